/** A tenant with one deployment, who does not know that the provider may be away: what fails is tried again. */
import { closeDeployment, createDeployment, createLease, updateDeployment } from "../../src/chain/tx/messages.ts";
import { kinds } from "../../src/kube/kinds.ts";
import type { KubeObject } from "../../src/kube/kube.ts";
import { parseCoin } from "../../src/market/coin.ts";
import { bidOn, type LeaseId } from "../../src/market/ids.ts";
import { leaseNamespace } from "../../src/market/lease-namespace.ts";
import { manifestHash } from "../../src/market/manifest.ts";
import type { Sdl } from "../../src/market/sdl/sdl.ts";
import type { LeaseStage } from "./stages/lease-stage.ts";

export type Tenant = ReturnType<typeof createTenant>;

export function createTenant(stage: LeaseStage, dseq: bigint) {
  const { queries, observer, until } = stage;
  const id = { owner: stage.tenant.address, dseq };
  const lease: LeaseId = bidOn({ ...id, gseq: 1, oseq: 1 }, stage.provider.address);
  const namespace = leaseNamespace(lease);

  /** Tried again until it is taken: the provider may be away, or not know of the lease yet. */
  async function sendManifest({ manifest }: Sdl): Promise<void> {
    let refusal: unknown;
    const isTaken = async () => {
      try {
        await stage.life?.open?.manifests.submit(id, JSON.stringify(manifest));
        return stage.life?.open !== undefined;
      } catch (thrown) {
        refusal = thrown;
        return false;
      }
    };
    await until(`manifest of ${dseq} taken`, isTaken).catch((thrown: unknown) => {
      throw new Error(String(thrown), { cause: refusal });
    });
  }

  /** Its pods that are not on their way out. */
  async function pods(): Promise<KubeObject[]> {
    const all = await observer.list(kinds.pod, { namespace });
    return all.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
  }

  const tenant = {
    id,
    lease,
    namespace,
    pods,
    sendManifest,

    async post({ groups, manifest }: Sdl, deposit = "5000000uact", reclamationWindowNs?: bigint): Promise<void> {
      const hash = manifestHash(manifest);
      await stage.send(createDeployment({ id, groups, hash, deposit: parseCoin(deposit), reclamationWindowNs }));
    },

    async bidComes(): Promise<void> {
      const isThere = async () => (await queries.bid(lease)).value?.state === "open";
      await until(`bid on ${dseq}`, isThere).catch((thrown: unknown) => {
        const { recent = [] } = stage.life?.status().bidengine ?? {};
        throw new Error(`${String(thrown)}; the provider says ${recent[0]?.reason}`);
      });
    },

    async takeBid(): Promise<void> {
      await tenant.bidComes();
      await stage.send(createLease(lease));
    },

    /** From nothing to what runs. */
    async deploy(sdl: Sdl): Promise<void> {
      await tenant.post(sdl);
      await tenant.takeBid();
      await sendManifest(sdl);
      await tenant.runs(sdl);
    },

    /** On the chain: that another manifest is to come. */
    async announce({ manifest }: Sdl): Promise<void> {
      await stage.send(updateDeployment(id, manifestHash(manifest)));
    },

    async update(sdl: Sdl): Promise<void> {
      await tenant.announce(sdl);
      await sendManifest(sdl);
      await tenant.runs(sdl);
    },

    async close(): Promise<void> {
      await stage.send(closeDeployment(id));
    },

    /** Every service with its image on as many pods as it should have, and no others. */
    async runs({ manifest }: Sdl): Promise<void> {
      const wanted = manifest
        .flatMap(({ services }) => services)
        .flatMap(({ image, count }) => Array.from({ length: count }, () => `${image} ready`));
      await until(`pods of ${dseq}`, async () => {
        const there = (await pods()).map((pod) => `${imageOf(pod)} ${isReady(pod) ? "ready" : "not ready"}`);
        return JSON.stringify(there.sort()) === JSON.stringify(wanted.sort());
      });
    },

    /** Nothing is left of it in the cluster. */
    async isGone(): Promise<void> {
      await until(
        `end of ${dseq}`,
        async () => (await observer.get(kinds.namespace, { name: namespace })) === undefined,
      );
    },
  };
  return tenant;
}

export function imageOf(pod: KubeObject): string {
  const { containers = [] } = pod["spec"] as { containers?: { image: string }[] };
  return containers[0]?.image ?? "";
}

function isReady(pod: KubeObject): boolean {
  const { conditions = [] } = (pod["status"] ?? {}) as { conditions?: { type: string; status: string }[] };
  return conditions.some(({ type, status }) => type === "Ready" && status === "True");
}
