package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	whapi "github.com/cert-manager/cert-manager/pkg/acme/webhook/apis/acme/v1alpha1"
	"github.com/hetznercloud/hcloud-go/v2/hcloud"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// The webhook of Hetzner cannot be had as a library. This one takes the same configuration and calls with the same library.
type solver struct{ cluster kubernetes.Interface }

type config struct {
	HcloudEndpoint    string `json:"hcloudEndpoint"`
	HTTPTimeout       string `json:"httpTimeout"`
	TokenSecretKeyRef struct {
		Name string `json:"name"`
		Key  string `json:"key"`
	} `json:"tokenSecretKeyRef"`
}

func (*solver) Name() string { return "hetzner" }

func (s *solver) Initialize(config *rest.Config, _ <-chan struct{}) (err error) {
	s.cluster, err = kubernetes.NewForConfig(config)
	return err
}

func (s *solver) Present(challenge *whapi.ChallengeRequest) error {
	return s.change(challenge, func(ctx context.Context, zones hcloud.IZoneClient, set *hcloud.ZoneRRSet, records []hcloud.ZoneRRSetRecord) (*hcloud.Action, error) {
		action, _, err := zones.AddRRSetRecords(ctx, set, hcloud.ZoneRRSetAddRecordsOpts{Records: records, TTL: hcloud.Ptr(60)})
		return action, err
	})
}

func (s *solver) CleanUp(challenge *whapi.ChallengeRequest) error {
	err := s.change(challenge, func(ctx context.Context, zones hcloud.IZoneClient, set *hcloud.ZoneRRSet, records []hcloud.ZoneRRSetRecord) (*hcloud.Action, error) {
		action, _, err := zones.RemoveRRSetRecords(ctx, set, hcloud.ZoneRRSetRemoveRecordsOpts{Records: records})
		return action, err
	})
	if hcloud.IsError(err, hcloud.ErrorCodeNotFound) {
		return nil
	}
	return err
}

type change func(context.Context, hcloud.IZoneClient, *hcloud.ZoneRRSet, []hcloud.ZoneRRSetRecord) (*hcloud.Action, error)

func (s *solver) change(challenge *whapi.ChallengeRequest, make change) error {
	read := config{}
	if err := json.Unmarshal(challenge.Config.Raw, &read); err != nil {
		return err
	}
	timeout, err := time.ParseDuration(read.HTTPTimeout)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	ref := read.TokenSecretKeyRef
	secret, err := s.cluster.CoreV1().Secrets(challenge.ResourceNamespace).Get(ctx, ref.Name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	token, present := secret.Data[ref.Key]
	if !present {
		return fmt.Errorf("the Secret %s has no key %s", ref.Name, ref.Key)
	}
	client := hcloud.NewClient(hcloud.WithToken(string(token)), hcloud.WithEndpoint(read.HcloudEndpoint))
	zone := strings.TrimSuffix(challenge.ResolvedZone, ".")
	set := &hcloud.ZoneRRSet{
		Zone: &hcloud.Zone{Name: zone},
		Name: strings.TrimSuffix(strings.TrimSuffix(challenge.ResolvedFQDN, "."), "."+zone),
		Type: hcloud.ZoneRRSetTypeTXT,
	}
	action, err := make(ctx, &client.Zone, set, []hcloud.ZoneRRSetRecord{{Value: strconv.Quote(challenge.Key)}})
	if err != nil {
		return err
	}
	return client.Action.WaitFor(ctx, action)
}
