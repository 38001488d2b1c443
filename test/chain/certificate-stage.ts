/** A keeper of our own certificate with journal and outbox before the embedded chain, on the virtual clock. */
import { X509Certificate } from "node:crypto";
import { join } from "node:path";
import { Cert_State, type CertificateResponse } from "@akashnetwork/chain-sdk/private-types/akash.v1";
import { PageRequest } from "@akashnetwork/chain-sdk/private-types/cosmos.v1beta1";
import { certificateOwners } from "../../src/chain/comet/blocks.ts";
import { certificatesQuery } from "../../src/chain/comet/queries/queries.ts";
import { revokeCertificateMessage } from "../../src/chain/tx/messages.ts";
import { type CertificateKeeper, createCertificateKeeper } from "../../src/gateway/certificate/certificate-keeper.ts";
import { type CertificateStore, createFileStore } from "../../src/gateway/certificate/certificate-store.ts";
import type { KeptCertificate } from "../../src/gateway/certificate/own-certificate.ts";
import { type Boundary, openBoundary } from "../../src/runtime/boundary.ts";
import { msToNs } from "../../src/runtime/clock.ts";
import { silentLog } from "../../src/runtime/log.ts";
import type { TestKey } from "../support/chain-signing.ts";
import { memoryFolder } from "../support/folder.ts";
import { noFaults, type OutboxRun, runOutbox, unreachable } from "../support/outbox-run.ts";
import type { Owner } from "../support/owner.ts";
import { createSeededRandom } from "../support/seeded-random.ts";
import type { Message } from "../support/stages/market-stage.ts";
import {
  createOutboxStage,
  followedBlock,
  providerKey,
  providerSigner,
  type StageOptions,
} from "../support/stages/outbox-stage.ts";
import { createVirtualClock, type VirtualClock } from "../support/virtual-clock.ts";

export const owner = providerSigner.address;
export const hour = 3_600_000;
export const day = 24 * hour;

export interface CertificateStage {
  readonly clock: VirtualClock;
  readonly dir: string;
  /** Whether the keeper can ask the chain. */
  isChainAway: boolean;
  /** How far the keeper's clock is ahead of the chain's. */
  aheadMs: number;
  /** Every certificate of ours that was ever put on the chain, the oldest first. */
  onChain(): OnChain[];
  /** A person does it; in the next block. */
  revoke(...serials: readonly string[]): void;
  /** In a block of which no life hears. */
  act(message: Message, key?: TestKey): Promise<void>;
  start(parts?: LifeParts): Promise<CertificateLife>;
}

interface OnChain {
  readonly serial: string;
  readonly isValid: boolean;
  readonly certificate: X509Certificate;
}

export interface LifeParts {
  readonly hosts?: readonly string[];
  readonly store?: CertificateStore;
  readonly boundary?: Boundary;
}

/** One run of the program. */
export interface CertificateLife {
  readonly keeper: CertificateKeeper;
  readonly run: OutboxRun;
  /** What was served, one after the other; undefined where it was nothing. */
  readonly shown: (KeptCertificate | undefined)[];
  block(afterMs?: number): Promise<void>;
  blocks(count: number): Promise<void>;
  /** Time passes in which nothing is heard of the chain, and then two blocks. */
  pass(ms: number): Promise<void>;
  /** Blocks, until a certificate is served and nothing is owed. */
  untilServed(): Promise<KeptCertificate>;
  stop(): Promise<void>;
}

export async function setUpCertificates(
  t: Owner,
  options: Omit<StageOptions, "clock"> = {},
): Promise<CertificateStage> {
  const clock = createVirtualClock();
  const dir = memoryFolder(t);
  const outboxStage = await createOutboxStage({ clock, ...options });
  const { app, store } = outboxStage.chain;
  const world = { clock, stage: outboxStage, faults: noFaults() };

  function list(): readonly CertificateResponse[] {
    const request = certificatesQuery.encode({
      filter: { owner },
      pagination: PageRequest.fromPartial({ limit: 100 }),
    });
    const { code, log, value } = app.query(certificatesQuery.path, request);
    if (code !== 0) throw new Error(log);
    return certificatesQuery.decode(value, store.height).items;
  }

  async function start({ hosts = ["provider.example"], boundary = openBoundary, ...parts }: LifeParts = {}) {
    const run = await runOutbox(t, world, { dir, boundary });
    const chain = {
      ...{ provider: owner, outbox: run.outbox },
      mirror: {
        ready: true,
        get height() {
          return store.height;
        },
        get timeNs() {
          return msToNs(clock.now());
        },
      },
      queries: {
        async certificates() {
          if (stage.isChainAway) throw unreachable("no route to host");
          return { items: list(), height: store.height, steady: true, node: "node 1" };
        },
      },
    };
    const keeper = createCertificateKeeper({
      ...{ chain, journal: run.journal, signer: providerSigner, hosts, log: silentLog },
      clock: { ...clock, now: () => clock.now() + stage.aheadMs },
      store: parts.store ?? createFileStore(join(dir, "certificates.pem"), boundary),
      homePath: join(dir, `${owner}.pem`),
      random: createSeededRandom(3),
    });
    const shown: (KeptCertificate | undefined)[] = [];
    keeper.onChange(() => shown.push(keeper.current));
    const abort = new AbortController();
    run.outbox.onSettled(keeper.onSettled);
    const running = keeper.run(abort.signal);
    await clock.settle();

    async function block(afterMs?: number): Promise<void> {
      const made = await run.block(afterMs);
      const txs = made.txs.filter((_, index) => made.output.txResults[index]?.code === 0);
      const owners = certificateOwners(
        txs.map((tx) => Buffer.from(tx).toString("base64")),
        clock,
      );
      await clock.settle();
      keeper.onStep({ block: { ...followedBlock(made), certificatesOf: await owners }, changed: [] });
      await clock.settle();
    }

    const life: CertificateLife = {
      ...{ keeper, run, shown, block },
      async blocks(count) {
        for (let made = 0; made < count; made++) await block();
      },
      async pass(ms) {
        clock.jump(ms);
        keeper.onStep({ gap: { from: store.height, to: store.height }, changed: [] });
        await clock.settle();
        await block();
        await block();
      },
      async untilServed() {
        for (let blocks = 0; blocks < 20; blocks++) {
          const { current: served } = keeper;
          if (served && run.outbox.counts.owed === 0 && keeper.error === undefined) return served;
          await block();
        }
        throw new Error(`nothing is served: ${keeper.error}`);
      },
      async stop() {
        abort.abort();
        await running;
        await run.stop();
      },
    };
    t.after(life.stop);
    return life;
  }

  const stage: CertificateStage = {
    ...{ clock, dir, isChainAway: false, aheadMs: 0, start },
    onChain: () =>
      list()
        .map(({ serial, certificate }) => ({
          serial,
          isValid: certificate?.state === Cert_State.valid,
          certificate: new X509Certificate(certificate?.cert ?? ""),
        }))
        .sort((left, right) => Number(BigInt(left.serial) - BigInt(right.serial))),
    revoke(...serials) {
      outboxStage.submit(
        providerKey,
        serials.map((serial) => revokeCertificateMessage(owner, serial)),
      );
    },
    async act(message, key = providerKey) {
      outboxStage.submit(key, [message]);
      await outboxStage.step();
    },
  };
  return stage;
}
