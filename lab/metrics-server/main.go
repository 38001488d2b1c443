// metrics-server with the options that the lab needs. Its own command is written for an older Kubernetes; with the
// versions that the lab's Kubernetes has, all it stands on is compiled already.
package main

import (
	"log"
	"net"
	"os"
	"time"

	corev1 "k8s.io/api/core/v1"
	openapinamer "k8s.io/apiserver/pkg/endpoints/openapi"
	genericapiserver "k8s.io/apiserver/pkg/server"
	genericoptions "k8s.io/apiserver/pkg/server/options"
	"k8s.io/apiserver/pkg/util/compatibility"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/metrics-server/pkg/api"
	generatedopenapi "sigs.k8s.io/metrics-server/pkg/api/generated/openapi"
	"sigs.k8s.io/metrics-server/pkg/scraper/client"
	"sigs.k8s.io/metrics-server/pkg/server"
)

const (
	// Where anybody may listen, so that it need not be root.
	port = 8443
	// The kubelet measures every ten seconds or so; asked more often it says the same.
	resolution = 10 * time.Second
)

func main() {
	// Which nodes are asked: KWOK's have no kubelet.
	if err := run(os.Args[1], genericapiserver.SetupSignalHandler()); err != nil {
		log.Fatal(err)
	}
}

func run(nodes string, stop <-chan struct{}) error {
	apiserver, err := apiserverConfig()
	if err != nil {
		return err
	}
	cluster, err := rest.InClusterConfig()
	if err != nil {
		return err
	}
	kubelet := rest.CopyConfig(cluster)
	// The kubelet's certificate is one that it made for itself.
	kubelet.TLSClientConfig = rest.TLSClientConfig{Insecure: true}
	config := server.Config{
		Apiserver: apiserver,
		Rest:      cluster,
		Kubelet: &client.KubeletClientConfig{
			Scheme:              "https",
			DefaultPort:         10250,
			AddressTypePriority: []corev1.NodeAddressType{corev1.NodeInternalIP},
			Client:              *kubelet,
		},
		MetricResolution: resolution,
		ScrapeTimeout:    resolution / 2,
		NodeSelector:     nodes,
	}
	metrics, err := config.Complete()
	if err != nil {
		return err
	}
	return metrics.RunUntil(stop)
}

func apiserverConfig() (*genericapiserver.Config, error) {
	serving := genericoptions.NewSecureServingOptions().WithLoopback()
	serving.BindPort = port
	serving.ServerCert.CertDirectory = ""
	if err := serving.MaybeDefaultWithSelfSignedCerts("localhost", nil, []net.IP{net.ParseIP("127.0.0.1")}); err != nil {
		return nil, err
	}
	config := genericapiserver.NewConfig(api.Codecs)
	if err := serving.ApplyTo(&config.SecureServing, &config.LoopbackClientConfig); err != nil {
		return nil, err
	}
	authentication := genericoptions.NewDelegatingAuthenticationOptions()
	if err := authentication.ApplyTo(&config.Authentication, config.SecureServing, nil); err != nil {
		return nil, err
	}
	// The probes of the kubelet carry no name.
	authorization := genericoptions.NewDelegatingAuthorizationOptions().WithAlwaysAllowPaths("/livez", "/readyz")
	if err := authorization.ApplyTo(&config.Authorization); err != nil {
		return nil, err
	}
	config.EffectiveVersion = compatibility.DefaultBuildEffectiveVersion()
	names := openapinamer.NewDefinitionNamer(api.Scheme)
	config.OpenAPIConfig = genericapiserver.DefaultOpenAPIConfig(generatedopenapi.GetOpenAPIDefinitions, names)
	config.OpenAPIV3Config = genericapiserver.DefaultOpenAPIV3Config(generatedopenapi.GetOpenAPIDefinitions, names)
	return config, nil
}
