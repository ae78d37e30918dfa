// What a name on a cluster needs for certificates: the controllers of cert-manager as its own main starts them, and the webhook that
// its ClusterIssuer names. See tests/clients/README.md.
//
//	controller <kubeconfig> <host:port of a resolver>
//	solver     <flags of an API server that extends another>
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/cert-manager/cert-manager/pkg/acme/webhook/cmd"
	"github.com/cert-manager/cert-manager/pkg/controller"
	_ "github.com/cert-manager/cert-manager/pkg/controller/acmechallenges"
	_ "github.com/cert-manager/cert-manager/pkg/controller/acmeorders"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificate-shim/ingresses"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificaterequests/acme"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificaterequests/approver"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificates/issuing"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificates/keymanager"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificates/readiness"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificates/requestmanager"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificates/revisionmanager"
	_ "github.com/cert-manager/cert-manager/pkg/controller/certificates/trigger"
	_ "github.com/cert-manager/cert-manager/pkg/controller/clusterissuers"
	_ "github.com/cert-manager/cert-manager/pkg/issuer/acme"
	logf "github.com/cert-manager/cert-manager/pkg/logs"
	"golang.org/x/sync/errgroup"
	"k8s.io/klog/v2"
)

// What cert-manager runs with unless it is told otherwise, and its chart.
const (
	clusterResourceNamespace = "cert-manager"
	workers                  = 5
	challengesMax            = 60
	backoffMin               = time.Hour
	backoffMax               = 32 * time.Hour
)

func main() {
	switch {
	case len(os.Args) == 4 && os.Args[1] == "controller":
		if err := control(os.Args[2], os.Args[3]); err != nil {
			fmt.Fprintf(os.Stderr, "cert-manager: %v\n", err)
			os.Exit(1)
		}
	case len(os.Args) > 1 && os.Args[1] == "solver":
		os.Args = append(os.Args[:1], os.Args[2:]...)
		cmd.RunWebhookServer("acme.hetzner.com", &solver{})
	default:
		fmt.Fprintln(os.Stderr, "usage: controller <kubeconfig> <host:port of a resolver> | solver <flags>")
		os.Exit(2)
	}
}

func control(kubeconfig, resolver string) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	group, ctx := errgroup.WithContext(logf.NewContext(ctx, klog.Background()))
	factory, err := controller.NewContextFactory(ctx, controller.ContextOptions{
		Kubeconfig:         kubeconfig,
		KubernetesAPIQPS:   20,
		KubernetesAPIBurst: 50,
		IssuerOptions:      controller.IssuerOptions{ClusterResourceNamespace: clusterResourceNamespace},
		ACMEOptions: controller.ACMEOptions{
			DNS01Nameservers: []string{resolver},
			// No name server of a test is on port 53.
			DNS01CheckAuthoritative: false,
			DNS01CheckRetryPeriod:   time.Second,
		},
		IngressShimOptions: controller.IngressShimOptions{DefaultIssuerKind: "Issuer", DefaultIssuerGroup: "cert-manager.io"},
		CertificateOptions: controller.CertificateOptions{
			CopiedAnnotationPrefixes:                 []string{"*"},
			CertificateRequestMinimumBackoffDuration: backoffMin,
			CertificateRequestMaximumBackoffDuration: backoffMax,
		},
		SchedulerOptions: controller.SchedulerOptions{MaxConcurrentChallenges: challengesMax},
	})
	if err != nil {
		return err
	}
	built, err := factory.Build()
	if err != nil {
		return err
	}
	for name, construct := range controller.Known() {
		each, err := construct(factory)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		group.Go(func() error { return each.Run(workers, ctx) })
	}
	built.SharedInformerFactory.Start(ctx.Done())
	built.KubeSharedInformerFactory.Start(ctx.Done())
	built.HTTP01ResourceMetadataInformersFactory.Start(ctx.Done())
	return group.Wait()
}
