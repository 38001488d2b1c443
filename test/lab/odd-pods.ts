/** Pods of the lab whose requests are hard to count. */
import { shellImage } from "../../lab/images.ts";
import { eventually } from "../support/eventually.ts";
import { create } from "./cluster.ts";

export const container = (requests: Readonly<Record<string, string>>, more: object = {}) => ({
  name: "main",
  image: shellImage,
  resources: { requests },
  ...more,
});

/** What is hard to count: what starts first, what stays beside, what the runtime takes, bytes, and what has ended. */
export function oddPods(runtimeClassName: string): Readonly<Record<string, object>> {
  return {
    starting: {
      containers: [container({ cpu: "10m", memory: "10M" })],
      initContainers: [
        container({ cpu: "10m", memory: "10Mi" }, { name: "proxy", restartPolicy: "Always" }),
        container({ cpu: "100m", "ephemeral-storage": "7Mi" }, { name: "setup", command: ["true"] }),
      ],
    },
    heavy: { containers: [container({ cpu: "30m" })], runtimeClassName },
    exact: { containers: [container({ cpu: "0.001", memory: "12345679" })] },
    finished: { containers: [container({ cpu: "250m" }, { command: ["true"] })], restartPolicy: "Never" },
  };
}

export async function putPod(namespace: string, name: string, spec: object): Promise<void> {
  // The namespace's service account comes a moment after the namespace, and no pod may be made without it.
  await eventually("the pod to be accepted", async () => {
    const whole = { terminationGracePeriodSeconds: 1, ...spec };
    await create(`/api/v1/namespaces/${namespace}/pods`, { metadata: { name }, spec: whole });
    return true;
  });
}
