/** KWOK: nodes and pods that exist only in the API server, by the thousand. It lets real nodes alone. */
import { answers } from "../api.ts";
import { binaryOf } from "../build.ts";
import type { Component } from "../component.ts";
import { network } from "../places.ts";
import { kubeconfigOf } from "../secrets.ts";

/** A node with this annotation is KWOK's. */
export const fakeNode = { key: "kwok.x-k8s.io/node", value: "fake" } as const;

const address = `127.0.0.1:${network.kwokPort}`;

export const kwok: Component = {
  name: "kwok",
  command: () => ({
    program: binaryOf("kwok"),
    args: [
      `--kubeconfig=${kubeconfigOf("kwok")}`,
      `--manage-nodes-with-annotation-selector=${fakeNode.key}=${fakeNode.value}`,
      `--cidr=${network.fakePods}`,
      `--server-address=${address}`,
    ],
  }),
  ready: () => answers(`http://${address}/readyz`),
};
