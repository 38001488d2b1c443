/** Traefik: takes requests from outside to pods, as Ingress objects, Gateway API routes or its own resources say. */
import { readFileSync } from "node:fs";
import { type Addon, account } from "../addon.ts";
import { definitionsOf } from "../build.ts";
import { programImage } from "../images.ts";
import { network } from "../places.ts";

const namespace = "traefik";
const name = "traefik";
const labels = { app: name };

/** The second is the class that the Go provider gives its Ingress objects. */
const ingressClasses = [name, "akash-ingress-class"];

const read = ["get", "list", "watch"];
const rules = [
  { apiGroups: [""], resources: ["configmaps", "namespaces", "nodes", "pods", "secrets", "services"], verbs: read },
  { apiGroups: ["discovery.k8s.io"], resources: ["endpointslices"], verbs: read },
  { apiGroups: ["networking.k8s.io"], resources: ["ingresses", "ingressclasses"], verbs: read },
  { apiGroups: ["networking.k8s.io"], resources: ["ingresses/status"], verbs: ["update"] },
  { apiGroups: ["traefik.io"], resources: ["*"], verbs: read },
  { apiGroups: ["gateway.networking.k8s.io"], resources: ["*"], verbs: [...read, "update"] },
];

const settings = [
  // A Gateway's listener is matched to one of these by its port.
  "--entrypoints.web.address=:80",
  "--entrypoints.websecure.address=:443",
  "--entrypoints.traefik.address=:8080",
  "--ping",
  "--providers.kubernetesingress",
  `--providers.kubernetesingress.ingressendpoint.ip=${network.ingress}`,
  "--providers.kubernetescrd",
  "--providers.kubernetesgateway",
  `--providers.kubernetesgateway.statusaddress.ip=${network.ingress}`,
  // There is no way out.
  "--global.checknewversion=false",
  "--global.sendanonymoususage=false",
];

const ports = [
  { name: "web", port: 80 },
  { name: "websecure", port: 443 },
];

const deployment = () => ({
  apiVersion: "apps/v1",
  kind: "Deployment",
  metadata: { name, namespace },
  spec: {
    replicas: 1,
    selector: { matchLabels: labels },
    template: {
      metadata: { labels },
      spec: {
        serviceAccountName: name,
        terminationGracePeriodSeconds: 1,
        containers: [
          {
            name,
            image: programImage("traefik"),
            args: settings,
            ports: ports.map(({ name, port }) => ({ name, containerPort: port })),
            readinessProbe: { httpGet: { path: "/ping", port: 8080 }, periodSeconds: 1, timeoutSeconds: 5 },
          },
        ],
      },
    },
  },
});

const gateway = {
  apiVersion: "gateway.networking.k8s.io/v1",
  kind: "Gateway",
  metadata: { name, namespace },
  spec: {
    gatewayClassName: name,
    listeners: [{ name: "http", protocol: "HTTP", port: 80, allowedRoutes: { namespaces: { from: "All" } } }],
  },
};

export const traefik: Addon = {
  name,
  deployment: { namespace, name },
  definitions: () => readFileSync(definitionsOf("traefik"), "utf8"),
  objects: () => [
    { apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } },
    ...account(name, namespace, rules),
    ...ingressClasses.map((ingressClass) => ({
      apiVersion: "networking.k8s.io/v1",
      kind: "IngressClass",
      metadata: { name: ingressClass },
      spec: { controller: "traefik.io/ingress-controller" },
    })),
    {
      apiVersion: "gateway.networking.k8s.io/v1",
      kind: "GatewayClass",
      metadata: { name },
      spec: { controllerName: "traefik.io/gateway-controller" },
    },
    deployment(),
    {
      apiVersion: "v1",
      kind: "Service",
      metadata: { name, namespace },
      spec: { selector: labels, ports, externalIPs: [network.ingress] },
    },
    gateway,
  ],
};
