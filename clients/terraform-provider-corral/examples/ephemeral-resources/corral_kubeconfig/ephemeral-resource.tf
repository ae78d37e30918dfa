ephemeral "corral_kubeconfig" "web" {
  cluster = corral_cluster.web.name
  scope   = "viewer"
}

provider "kubernetes" {
  host                   = yamldecode(ephemeral.corral_kubeconfig.web.kubeconfig).clusters[0].cluster.server
  cluster_ca_certificate = base64decode(yamldecode(ephemeral.corral_kubeconfig.web.kubeconfig).clusters[0].cluster["certificate-authority-data"])
  client_certificate     = base64decode(yamldecode(ephemeral.corral_kubeconfig.web.kubeconfig).users[0].user["client-certificate-data"])
  client_key             = base64decode(yamldecode(ephemeral.corral_kubeconfig.web.kubeconfig).users[0].user["client-key-data"])
}
