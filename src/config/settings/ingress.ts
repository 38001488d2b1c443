import { domain, hostnamePatterns, kubernetesName } from "../addresses.ts";
import { choice, onOff, text } from "../plain.ts";
import { dead, type Group, optional, type Program, setting } from "../setting.ts";

const both: readonly Program[] = ["run", "hostname"];

export const ingressGroup = {
  title: "Ingress",
  about: "How workloads are reached from outside, and what they may reach.",
  settings: {
    ingressMode: setting({
      flag: "ingress-mode",
      kind: choice(["ingress", "gateway-api"]),
      default: "ingress",
      usedBy: both,
      doc: "Routes as Ingress objects or as routes of the Gateway API.",
    }),
    gatewayName: setting({
      flag: "gateway-name",
      kind: kubernetesName,
      default: "akash-gateway",
      usedBy: both,
      doc: "The Gateway that routes belong to, in gateway-api mode.",
    }),
    gatewayNamespace: setting({
      flag: "gateway-namespace",
      kind: kubernetesName,
      default: "akash-gateway",
      usedBy: both,
      doc: "The namespace of that Gateway.",
    }),
    gatewayProvider: setting({
      flag: "gateway-provider",
      kind: text("a name like nginx", /^[a-z][a-z0-9-]*$/, "<name>"),
      default: "nginx",
      usedBy: both,
      doc: "Which implementation of the Gateway API runs in the cluster.",
    }),
    proxyBufferSize: setting({
      flag: "proxy-buffer-size",
      kind: text("a size as NGINX writes it, like 16k", /^[1-9]\d{0,8}[kKmM]?$/, "<size>"),
      default: "16k",
      usedBy: both,
      doc: "Buffer for the headers of a workload's answer, in gateway-api mode.",
    }),
    deploymentIngressStaticHosts: setting({
      flag: "deployment-ingress-static-hosts",
      key: "deployment_ingress_static_hosts",
      kind: onOff,
      default: "false",
      doc: "Give every service that is exposed over HTTP a host name of its own below --deployment-ingress-domain.",
    }),
    deploymentIngressDomain: optional({
      flag: "deployment-ingress-domain",
      key: "deployment_ingress_domain",
      kind: domain,
      doc: "The domain of those host names.",
    }),
    deploymentBlockedHostnames: setting({
      flag: "deployment-blocked-hostnames",
      kind: hostnamePatterns,
      default: "",
      doc: "Host names that tenants may not use; one that begins with a dot stands for the whole domain.",
    }),
    deploymentNetworkPoliciesEnabled: setting({
      flag: "deployment-network-policies-enabled",
      kind: onOff,
      default: "true",
      doc: "Keep the workloads of different leases from reaching each other and the cluster.",
    }),
    deploymentIngressExposeLbHosts: dead({
      flag: "deployment-ingress-expose-lb-hosts",
      harmless: "false",
      why: "addresses of load balancers are not told to tenants",
    }),
  },
} as const satisfies Group;
