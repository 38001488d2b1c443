import {
  domain,
  endpoint,
  hostnamePatterns,
  ingressControllers,
  ipRanges,
  kubernetesName,
} from "../formats/addresses.ts";
import { choice, freeText, onOff } from "../formats/plain.ts";
import { dead, group, optionalRow, type Program, setting } from "../setting.ts";

const both: readonly Program[] = ["run", "hostname"];
const hostnames: readonly Program[] = ["hostname"];

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
    gatewayProvider: setting("gateway-provider", choice(["nginx", "traefik"]), {
      default: "nginx",
      usedBy: both,
      doc: "Which implementation of the Gateway API runs in the cluster: NGINX Gateway Fabric or Traefik.",
    }),
    ingressProvider: setting("ingress-provider", choice(["nginx", "traefik"]), {
      default: "nginx",
      usedBy: hostnames,
      doc: "Which ingress controller runs in the cluster, in ingress mode: Ingress-NGINX or Traefik.",
    }),
    ingressClass: setting("ingress-class", kubernetesName, {
      default: "akash-ingress-class",
      usedBy: hostnames,
      doc: "The class of the Ingress objects, by which their controller knows them.",
    }),
    ingressTlsSecret: optionalRow(
      "ingress-tls-secret",
      freeText(
        "a Secret like wildcard-tls or ingress/wildcard-tls",
        /^([a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?\/)?[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$/,
        "<secret>",
      ),
      {
        usedBy: hostnames,
        doc: "The certificate of every host name, in ingress mode: a Secret of this name in the namespace of each lease, which somebody has to put there; or, as namespace/name, the one that the controller itself has as its default.",
      },
    ),
    ingressTlsIssuer: optionalRow("ingress-tls-issuer", kubernetesName, {
      usedBy: hostnames,
      doc: "A ClusterIssuer of cert-manager, which then has a certificate issued for every host name, in ingress mode.",
    }),
    hostnameProof: setting("hostname-proof", onOff, {
      default: "false",
      usedBy: both,
      doc: "Serve a host name that is not below --deployment-ingress-domain only once the DNS has its owner's address in a TXT record of _akash-challenge.<host name>; then one owner may have a wildcard and another an exact name below it.",
    }),
    hostnameProbe: optionalRow("hostname-probe", endpoint, {
      usedBy: hostnames,
      doc: "Where the ingress controller answers over HTTP; then every host name is asked there once a minute, and whether it answers is part of its health.",
    }),
    proxyBufferSize: setting(
      "proxy-buffer-size",
      freeText("a size as NGINX writes it, like 16k", /^[1-9]\d{0,8}[kKmM]?$/, "<size>"),
      { default: "16k", usedBy: both, doc: "Buffer for the headers of a workload's answer, in gateway-api mode." },
    ),
    deploymentIngressStaticHosts: setting("deployment-ingress-static-hosts", onOff, {
      key: "deployment_ingress_static_hosts",
      default: "false",
      doc: "Give every service that is exposed over HTTP a host name of its own below --deployment-ingress-domain.",
    }),
    deploymentIngressDomain: optionalRow("deployment-ingress-domain", domain, {
      key: "deployment_ingress_domain",
      usedBy: both,
      doc: "The domain of those host names.",
    }),
    deploymentBlockedHostnames: setting("deployment-blocked-hostnames", hostnamePatterns, {
      default: "",
      usedBy: both,
      doc: "Host names that tenants may not use; one that begins with a dot stands for the whole domain, and a wildcard (*.co.uk) for itself alone.",
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
