terraform import corral_connection.main main
