terraform import corral_adopted_server.worker main/4711
