// Enforces network policies on the one node of the lab. The kernel hands over the first packet of every connection from
// or to a pod; the policies decide whether it goes on. Later packets of a connection never leave the kernel, so a
// changed policy holds for new connections and lets those that are open live on.
//
// Without this program the kernel drops those first packets: no connection is ever made that was not judged, and a lab
// without enforcement cannot be mistaken for a policy that allows.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"net/http"
	"os/signal"
	"syscall"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
)

func main() {
	kubeconfig := flag.String("kubeconfig", "", "how to reach the API server")
	node := flag.String("node", "", "the node whose pods are guarded")
	pods := flag.String("pods", "", "the addresses that pods get, FIRST-LAST")
	table := flag.String("table", "", "the nftables table for the rules; it must be nobody else's")
	queue := flag.Uint("queue", 0, "the kernel's queue for packets to judge; it must be nobody else's")
	health := flag.String("health", "", "where to answer that all is well, HOST:PORT")
	flag.Parse()

	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *kubeconfig, *node, *pods, *table, uint16(*queue), *health); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, kubeconfig, node, pods, table string, queue uint16, health string) error {
	addresses, err := parseRange(pods)
	if err != nil {
		return err
	}
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return err
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	cluster, err := watchCluster(ctx, client, node)
	if err != nil {
		return err
	}
	guard := &guard{judge: judge{cluster}, addresses: addresses}
	failed, err := guard.listen(queue)
	if err != nil {
		return err
	}
	if err := writeRules(table, addresses, queue); err != nil {
		return fmt.Errorf("writing the packet rules: %w", err)
	}
	go func() { failed <- http.ListenAndServe(health, guard) }()
	log.Printf("judging connections of pods in %s", pods)
	select {
	case <-ctx.Done():
		return nil
	case err := <-failed:
		return err
	}
}
