/** Keys and certificates of accounts, as a gateway caches them, on an embedded chain and virtual time, with nodes that go silent. */
import { createEmbeddedNode } from "../../src/box/chain/embedded-node.ts";
import type { Node } from "../../src/box/chain/node/node.ts";
import { makeCertificate } from "../../src/chain/certificates/make-certificate.ts";
import { cursorIn } from "../../src/chain/chain-service.ts";
import { type CometChain, createCometChain } from "../../src/chain/comet/comet-chain.ts";
import { createPool } from "../../src/chain/comet/pool.ts";
import { createSigner, type Signer } from "../../src/chain/keys/signer.ts";
import { createCometBroadcaster } from "../../src/chain/tx/comet-broadcaster.ts";
import { type PackedMessage, packMessage } from "../../src/chain/tx/messages.ts";
import { sendMessages } from "../../src/chain/tx/send.ts";
import { createKnownAccounts, type KnownAccounts } from "../../src/gateway/auth/known-accounts.ts";
import type { Journal } from "../../src/journal/journal.ts";
import { openJournal } from "../../src/journal/open.ts";
import { sleep } from "../../src/runtime/clock.ts";
import { invariant } from "../../src/runtime/invariant.ts";
import { createLifecycle } from "../../src/runtime/lifecycle.ts";
import { silentLog } from "../../src/runtime/log.ts";
import { advanceUntilSettled } from "../support/advance-until-settled.ts";
import { type FaultTransport, faultTransport } from "../support/fault-transport.ts";
import { memoryFolder } from "../support/folder.ts";
import { closeDeployment, createBid, createDeployment, createLease, spec } from "../support/market-messages.ts";
import { createOwner } from "../support/owner.ts";
import { createSeededRandom } from "../support/seeded-random.ts";
import { fees, initialCoins, registration } from "../support/stages/lease-stage.ts";
import { serviceOf } from "../support/stages/mirror-stage.ts";
import { createVirtualClock, type VirtualClock } from "../support/virtual-clock.ts";

export const blockMs = 1_000;

export interface AccountStage {
  readonly clock: VirtualClock;
  readonly node: Node;
  /** The gateway's connection to the node. */
  readonly wire: FaultTransport;
  /** The first has no coins, and so has never signed. */
  readonly people: readonly Signer[];
  /** Resolves when it is in a block. */
  send(by: Signer, ...messages: readonly PackedMessage[]): Promise<void>;
  /** Of this tenant with us. */
  lease(tenant: Signer, dseq: bigint): Promise<void>;
  close(tenant: Signer, dseq: bigint): Promise<void>;
  certify(tenant: Signer): Promise<StageCertificate>;
  revoke(tenant: Signer, certificate: StageCertificate): Promise<void>;
  /** A gateway's life, from its start on; one at a time. With `silence` no node answers any more as soon as its chain is open. */
  start(options?: { readonly silence?: boolean }): Promise<AccountLife>;
  /** From here on a block comes so often. */
  pace(everyMs: number): void;
  until(what: string, isSo: () => boolean): Promise<void>;
}

export interface StageCertificate {
  readonly serial: bigint;
  readonly der: Buffer;
}

export interface AccountLife extends KnownAccounts {
  readonly chain: CometChain;
  readonly journal: Journal;
  stop(): Promise<void>;
}

export async function onAccountStage(
  play: (stage: AccountStage) => Promise<void>,
  options: { readonly keepBlocks?: number } = {},
): Promise<void> {
  const clock = createVirtualClock();
  await advanceUntilSettled(clock, setUp(clock, play, options), 3_600_000);
}

async function setUp(
  clock: VirtualClock,
  play: (stage: AccountStage) => Promise<void>,
  options: { readonly keepBlocks?: number },
): Promise<void> {
  await using owner = createOwner();
  const random = createSeededRandom(1);
  const deps = { clock, random, log: silentLog };
  const people = Array.from({ length: 4 }, () => createSigner(random.bytes(32)));
  const [, ...rich] = people;
  const provider = createSigner(random.bytes(32));
  const accounts = [provider, ...rich].map(({ address }) => ({ address, coins: initialCoins }));
  const node = createEmbeddedNode({ chainId: "accounts-1", accounts, listens: false, ...deps, ...options });
  owner.after(() => node.stop());
  await node.start();
  node.step();
  let everyMs = blockMs;
  let timer = clock.timer(everyMs, make);
  function make(): void {
    node.step();
    timer = clock.timer(everyMs, make);
  }
  owner.after(() => timer.cancel());
  const pool = createPool({ nodes: [node.transport("people's node")], ...deps });
  owner.after(() => pool.close());
  await pool.open();
  const sending = { chainId: node.chainId, chain: createCometBroadcaster(pool), settings: fees, clock, random };
  const send = async (signer: Signer, ...messages: readonly PackedMessage[]) => {
    await sendMessages({ ...sending, signer }, messages);
  };
  await send(provider, registration(provider.address));
  const dir = memoryFolder(owner);
  const lives = new Set<() => Promise<void>>();
  owner.after(async () => {
    for (const stop of lives) await stop();
  });
  let wire = faultTransport(node.transport());
  let serials = 0n;

  const stage: AccountStage = {
    ...{ clock, node, people, send },
    get wire() {
      return wire;
    },
    async lease({ address }, dseq) {
      const tenant = people.find((each) => each.address === address);
      invariant(tenant, "a tenant of the stage");
      const id = { owner: address, dseq };
      const bid = { ...id, gseq: 1, oseq: 1, provider: provider.address, bseq: 0 };
      await send(tenant, createDeployment({ id, groups: [spec({ requirements: { signedBy: {}, attributes: [] } })] }));
      await send(provider, createBid(bid));
      await send(tenant, createLease(bid));
    },
    close: (tenant, dseq) => send(tenant, closeDeployment({ owner: tenant.address, dseq })),
    async certify(tenant) {
      serials += 1n;
      const times = { serial: 10n ** 18n + serials, fromMs: clock.now(), untilMs: clock.now() + 86_400_000 };
      const made = makeCertificate({ owner: tenant.address, hosts: [], isServer: false, ...times });
      const parts = { cert: Buffer.from(made.certificate), pubkey: Buffer.from(made.publicKey) };
      await send(tenant, packMessage("createCertificate", { owner: tenant.address, ...parts }));
      const [, base64 = ""] = made.certificate.split(/-----[A-Z ]+-----/);
      return { serial: times.serial, der: Buffer.from(base64, "base64") };
    },
    revoke: (tenant, { serial }) => send(tenant, revocation(tenant, serial)),
    pace(ms) {
      everyMs = ms;
      timer.cancel();
      timer = clock.timer(everyMs, make);
    },
    async start({ silence = false } = {}) {
      wire = faultTransport(node.transport());
      const life = await startLife(wire, silence);
      lives.add(life.stop);
      return life;
    },
    async until(what, isSo) {
      const limitMs = clock.now() + 300_000;
      while (!isSo()) {
        if (clock.now() > limitMs) throw new Error(`timed out: ${what}`);
        await sleep(clock, 100);
      }
    },
  };

  async function startLife(way: FaultTransport, silence: boolean): Promise<AccountLife> {
    if (silence) way.hangs = (method) => method.startsWith("block");
    const { journal } = await openJournal({ dir, clock, log: silentLog });
    const chain = createCometChain({ nodes: [way], provider: provider.address, cursor: cursorIn(journal), ...deps });
    const opened = Promise.withResolvers<KnownAccounts>();
    const gateway = {
      name: "gateway",
      start(scope: Parameters<ReturnType<typeof serviceOf>["start"]>[0]) {
        if (silence) way.hangs = () => true;
        const known = createKnownAccounts({ chain, journal, ...deps });
        scope.task("lease owners", known.queue.run);
        opened.resolve(known);
      },
    };
    const stopping = new AbortController();
    const ended = createLifecycle({ services: [serviceOf(chain), gateway], ...deps }).run(stopping.signal);
    const stop = async () => {
      lives.delete(stop);
      stopping.abort();
      await ended;
      await journal.close();
    };
    const known = await Promise.race([opened.promise, ended.then(() => Promise.reject(new Error("it ended")))]);
    return Object.assign(known, { chain, journal, stop });
  }

  await play(stage);
}

export function revocation({ address: owner }: Signer, serial: bigint): PackedMessage {
  return packMessage("revokeCertificate", { id: { owner, serial: `${serial}` } });
}
