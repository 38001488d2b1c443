/** What the walking skeleton runs for a lease, and what a tenant asks for to get it: one container that serves HTTP. */
import { GroupSpec } from "@akashnetwork/chain-sdk/private-types/akash.v1beta4";
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

const amount = (value: number) => ({ val: Buffer.from(value.toString()) });

export const skeletonGroup = GroupSpec.fromPartial({
  name: "web",
  requirements: { signedBy: {}, attributes: [] },
  resources: [
    {
      resource: {
        id: 1,
        cpu: { units: amount(100) },
        gpu: { units: amount(0) },
        memory: { quantity: amount(2 ** 27) },
        storage: [{ name: "default", quantity: amount(2 ** 27) }],
        endpoints: [{}],
      },
      count: 1,
      price: { denom: "uact", amount: "10000" },
    },
  ],
});
