package main

import (
	"context"
	"errors"
	"net/netip"

	v1 "k8s.io/api/core/v1"
	networking "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	corelisters "k8s.io/client-go/listers/core/v1"
	networkinglisters "k8s.io/client-go/listers/networking/v1"
	"k8s.io/client-go/tools/cache"

	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// What the API server says, kept up to date.
type cluster struct {
	pods       cache.Indexer
	namespaces corelisters.NamespaceLister
	policies   networkinglisters.NetworkPolicyLister
}

const byAddress = "address"

// Returns once everything there is has been read.
func watchCluster(ctx context.Context, client kubernetes.Interface, node string) (*cluster, error) {
	everywhere := informers.NewSharedInformerFactory(client, 0)
	// Pods of other nodes have no address here, and a benchmark may invent thousands of them.
	here := informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithTweakListOptions(
		func(options *meta.ListOptions) {
			options.FieldSelector = fields.OneTermEqualSelector("spec.nodeName", node).String()
		}))
	pods := here.Core().V1().Pods().Informer()
	if err := pods.AddIndexers(cache.Indexers{byAddress: addressesOf}); err != nil {
		return nil, err
	}
	seen := &cluster{
		pods:       pods.GetIndexer(),
		namespaces: everywhere.Core().V1().Namespaces().Lister(),
		policies:   everywhere.Networking().V1().NetworkPolicies().Lister(),
	}
	for _, factory := range []informers.SharedInformerFactory{here, everywhere} {
		factory.Start(ctx.Done())
		for _, synced := range factory.WaitForCacheSync(ctx.Done()) {
			if !synced {
				return nil, errors.New("told to stop before the cluster was read")
			}
		}
	}
	return seen, nil
}

// A pod on the host's network has the node's address and counts as the node; one that has finished gave its address back.
func addressesOf(object any) ([]string, error) {
	pod := object.(*v1.Pod)
	if pod.Spec.HostNetwork || pod.Status.Phase == v1.PodSucceeded || pod.Status.Phase == v1.PodFailed {
		return nil, nil
	}
	var addresses []string
	for _, address := range pod.Status.PodIPs {
		addresses = append(addresses, address.IP)
	}
	return addresses, nil
}

// Nil where no pod is known to have the address.
func (c *cluster) podAt(address netip.Addr) *v1.Pod {
	found, err := c.pods.ByIndex(byAddress, address.String())
	if err != nil {
		panic(err) // the index is there
	}
	var newest *v1.Pod
	for _, object := range found {
		// One that is on its way out may still be listed with an address that was given on.
		if pod := object.(*v1.Pod); newest == nil || newest.CreationTimestamp.Before(&pod.CreationTimestamp) {
			newest = pod
		}
	}
	return newest
}

func (c *cluster) namespaceLabels(name string) labels.Set {
	namespace, err := c.namespaces.Get(name)
	if err != nil {
		return nil // not read yet: it has no labels that anybody could rely on
	}
	return namespace.Labels
}

func (c *cluster) policiesIn(namespace string) []*networking.NetworkPolicy {
	found, err := c.policies.NetworkPolicies(namespace).List(labels.Everything())
	if err != nil {
		panic(err) // a list from memory does not fail
	}
	return found
}
