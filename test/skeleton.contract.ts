/** One order from the chain to a container and back, on whatever cluster: the end-to-end test that later steps widen. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { sendMessages } from "../src/chain/tx/send.ts";
import { closeDeployment, createDeployment, createLease } from "../src/chain/tx/tenant-messages.ts";
import { kinds } from "../src/kube/kinds.ts";
import type { Kube, KubeObject } from "../src/kube/kube.ts";
import { parseCoin } from "../src/market/coin.ts";
import { leaseNamespace } from "../src/market/lease-namespace.ts";
import { manifestHash } from "../src/market/manifest.ts";
import { realClock } from "../src/runtime/clock.ts";
import { createSeededRandom } from "../src/runtime/random.ts";
import { eventually } from "./eventually.ts";
import type { Owner } from "./owner.ts";
import { bidOn } from "./skeleton-service.ts";
import { skeletonGroups, skeletonManifest, skeletonWorkload } from "./skeleton-workload.ts";
import { fees, startSkeleton, tenantSigner } from "./walking-skeleton.ts";

export interface SkeletonContract {
  readonly name: string;
  readonly skip: false | string;
  open(owner: Owner): Promise<Kube>;
  /** Serves HTTP on this port. */
  readonly image: string;
  readonly port: number;
  readonly page: string;
}

/** A busy machine takes its time to start a container, and a namespace five seconds to go. */
const withinMs = 60_000;

export function checkSkeleton({ name, skip, open, image, port, page }: SkeletonContract): void {
  test(`an order becomes a container on ${name}, which answers, and goes when the lease closes`, {
    skip,
  }, async (t) => {
    const kube = await open(t);
    const { node, chain } = await startSkeleton(t, kube, (lease) =>
      skeletonWorkload({ namespace: leaseNamespace(lease), image, port }),
    );
    const sending = { chainId: node.chainId, chain: chain.broadcaster, signer: tenantSigner, settings: fees };
    const send = (message: ReturnType<typeof createLease>) =>
      sendMessages({ ...sending, clock: realClock, random: createSeededRandom(2) }, [message]);

    const id = { owner: tenantSigner.address, dseq: 7n };
    await send(
      createDeployment({
        id,
        groups: skeletonGroups,
        hash: manifestHash(skeletonManifest),
        deposit: parseCoin("5000000uact"),
      }),
    );
    const lease = bidOn({ ...id, gseq: 1, oseq: 1 }, chain.provider);
    await eventually("our bid", () => chain.mirror.bid(lease)?.state === "open", withinMs);

    await send(createLease(lease));
    const namespace = leaseNamespace(lease);
    const pod = await eventually("the container", async () => (await readyPods(kube, namespace))[0], withinMs);
    const target = { kind: "pod", namespace, name: pod.metadata.name, port } as const;
    const answer = await eventually("its page", () => kube.proxy(target), withinMs);
    assert.deepEqual([answer.status, answer.body.toString()], [200, page]);

    await send(closeDeployment(id));
    const gone = async () => (await kube.get(kinds.namespace, { name: namespace })) === undefined;
    await eventually("the namespace to go", gone, withinMs);
    assert.deepEqual(await kube.list(kinds.pod, { namespace }), []);
  });
}

async function readyPods(kube: Kube, namespace: string): Promise<KubeObject[]> {
  const pods = await kube.list(kinds.pod, { namespace });
  return pods.filter(({ status }) => {
    const { conditions = [] } = (status ?? {}) as { conditions?: { type: string; status: string }[] };
    return conditions.some((condition) => condition.type === "Ready" && condition.status === "True");
  });
}
