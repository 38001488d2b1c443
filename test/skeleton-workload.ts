/** What the walking skeleton runs for a lease, and what a tenant asks for to get it: one container that serves HTTP. */
import type { KubeObject } from "../src/kube/kube.ts";
import { readSdl } from "../src/market/sdl/sdl.ts";

export interface SkeletonWorkload {
  readonly namespace: string;
  readonly image: string;
  readonly port: number;
}

export function skeletonWorkload({ namespace, image, port }: SkeletonWorkload): KubeObject {
  const labels = { app: "web" };
  const container = { name: "web", image, ports: [{ containerPort: port }] };
  const readinessProbe = { httpGet: { path: "/", port }, periodSeconds: 1 };
  return {
    metadata: { name: "web", namespace },
    spec: {
      replicas: 1,
      selector: { matchLabels: labels },
      template: {
        metadata: { labels },
        spec: { containers: [{ ...container, readinessProbe }], terminationGracePeriodSeconds: 1 },
      },
    },
  };
}

export const { groups: skeletonGroups, manifest: skeletonManifest } = readSdl(`
version: "2.1"
services:
  web:
    image: web
    expose: [{ port: 80, to: [{ global: true }] }]
profiles:
  compute:
    small: { resources: { cpu: { units: 100m }, memory: { size: 128Mi }, storage: { size: 128Mi } } }
  placement:
    web: { pricing: { small: { denom: uact, amount: 10000 } } }
deployment:
  web: { web: { profile: small, count: 1 } }
`);
