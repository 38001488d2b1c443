/** The Go programs of the lab. Each has a folder lab/NAME, whose go.mod and go.sum say what is built, in which version. */

interface Program {
  /** The main package where it is one of a module's own; otherwise it is main.go in the folder. */
  readonly package?: string;
  /** A file of a Go module that one in our folder takes the place of. */
  readonly instead?: { readonly module: string; readonly file: string; readonly ours: string };
  /** Definitions of custom resources that come with it: files of Go modules, kept together beside the program. */
  readonly definitions?: readonly { readonly module: string; readonly files: string }[];
  /** Go variables that the linker sets. */
  readonly stamps?: Readonly<Record<string, string>>;
}

/** As in kube/go.mod; without a stamp the API server would not know which version it is. */
const kubeVersion = "v1.34.4";
const [major = "", minor = ""] = kubeVersion.slice(1).split(".");
const kubeStamp = "k8s.io/component-base/version";

export type ProgramName =
  | "coredns"
  | "grpc-client"
  | "kube"
  | "kwok"
  | "local-path-provisioner"
  | "metrics-server"
  | "network-policy"
  | "pebble"
  | "traefik";

export const programs: Readonly<Record<ProgramName, Program>> = {
  kube: {
    stamps: {
      [`${kubeStamp}.gitVersion`]: kubeVersion,
      [`${kubeStamp}.gitMajor`]: major,
      [`${kubeStamp}.gitMinor`]: minor,
    },
  },
  kwok: { package: "sigs.k8s.io/kwok/cmd/kwok" },
  coredns: {},
  "grpc-client": {},
  "local-path-provisioner": { package: "github.com/rancher/local-path-provisioner" },
  "metrics-server": {},
  "network-policy": {},
  pebble: { package: "github.com/letsencrypt/pebble/v2/cmd/pebble" },
  traefik: {
    package: "github.com/traefik/traefik/v3/cmd/traefik",
    // As it is released, it has 800 packages more to compile, half as many again.
    instead: {
      module: "github.com/go-acme/lego/v4",
      file: "providers/dns/zz_gen_dns_providers.go",
      ours: "dns_providers.go",
    },
    definitions: [
      { module: "sigs.k8s.io/gateway-api", files: "config/crd/standard/*.yaml" },
      {
        module: "github.com/traefik/traefik/v3",
        files: "docs/content/reference/dynamic-configuration/kubernetes-crd-definition-v1.yml",
      },
    ],
  },
};
