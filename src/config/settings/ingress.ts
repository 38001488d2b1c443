import { domain, hostnamePatterns, ingressControllers, ipRanges, kubernetesName } from "../formats/addresses.ts";
import { choice, onOff, text } from "../formats/plain.ts";
import { dead, group, optional, type Program, setting } from "../setting.ts";

const both: readonly Program[] = ["run", "hostname"];

export const ingressGroup = group({
  title: "Ingress",
  about: "How workloads are reached from outside, and what they may reach.",
  settings: {
    ingressMode: setting("ingress-mode", choice(["ingress", "gateway-api"]), {
      default: "ingress",
      usedBy: both,
      doc: "Routes as Ingress objects or as routes of the Gateway API.",
    }),
    gatewayName: setting("gateway-name", kubernetesName, {
      default: "akash-gateway",
      usedBy: both,
      doc: "The Gateway that routes belong to, in gateway-api mode.",
    }),
    gatewayNamespace: setting("gateway-namespace", kubernetesName, {
      default: "akash-gateway",
      usedBy: both,
      doc: "The namespace of that Gateway.",
    }),
    gatewayProvider: setting("gateway-provider", text("a name like nginx", /^[a-z][a-z0-9-]*$/, "<name>"), {
      default: "nginx",
      usedBy: both,
      doc: "Which implementation of the Gateway API runs in the cluster.",
    }),
    proxyBufferSize: setting(
      "proxy-buffer-size",
      text("a size as NGINX writes it, like 16k", /^[1-9]\d{0,8}[kKmM]?$/, "<size>"),
      { default: "16k", usedBy: both, doc: "Buffer for the headers of a workload's answer, in gateway-api mode." },
    ),
    deploymentIngressStaticHosts: setting("deployment-ingress-static-hosts", onOff, {
      key: "deployment_ingress_static_hosts",
      default: "false",
      doc: "Give every service that is exposed over HTTP a host name of its own below --deployment-ingress-domain.",
    }),
    deploymentIngressDomain: optional("deployment-ingress-domain", domain, {
      key: "deployment_ingress_domain",
      doc: "The domain of those host names.",
    }),
    deploymentBlockedHostnames: setting("deployment-blocked-hostnames", hostnamePatterns, {
      default: "",
      doc: "Host names that tenants may not use; one that begins with a dot stands for the whole domain.",
    }),
    deploymentNetworkPoliciesEnabled: setting("deployment-network-policies-enabled", onOff, {
      default: "true",
      doc: "Keep the workloads of different leases from reaching each other and the cluster.",
    }),
    deploymentIngressControllers: setting("deployment-ingress-controllers", ingressControllers, {
      default: "ingress-nginx,traefik",
      doc: "Who may bring requests from outside to workloads: pods labelled `app.kubernetes.io/name` with one of these names or in a namespace of that name, and ranges of addresses, for controllers on their node's network. In gateway-api mode the Gateway's namespace is added.",
    }),
    deploymentClosedRanges: setting("deployment-closed-ranges", ipRanges, {
      default: "",
      doc: "Addresses that workloads may not reach besides private ones, link-local ones, and those of nodes and pods that the nodes tell: the range of Services where it is not private, other machines of yours.",
    }),
  },
  inert: [
    dead("deployment-ingress-expose-lb-hosts", "addresses of load balancers are not told to tenants", {
      harmless: "false",
    }),
  ],
});
