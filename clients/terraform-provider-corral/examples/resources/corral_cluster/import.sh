terraform import corral_cluster.web web
