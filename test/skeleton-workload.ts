/** What the walking skeleton runs for a lease: one container that serves HTTP. */
import type { KubeObject } from "../src/kube/kube.ts";

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
