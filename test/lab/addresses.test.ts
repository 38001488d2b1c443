/**
 * Leased addresses on a real API server: the IP operator as its service account, with the roles of deploy/, and MetalLB's
 * controller played. Where an address leads is decided by kube-proxy, and tested from outside of the cluster.
 */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { type AuditMark, auditedSince, isWrite, markAudit } from "../../lab/audit.ts";
import { places } from "../../lab/places.ts";
import { fieldsOf } from "../../src/kube/json-fields.ts";
import { kinds } from "../../src/kube/kinds.ts";
import type { Kube } from "../../src/kube/kube.ts";
import { leasedIp, leasedIpName } from "../../src/kube/objects/leased-ip.ts";
import { metalLbNamespace } from "../../src/kube/objects/metallb.ts";
import type { LeaseId } from "../../src/market/ids.ts";
import { readAddressRange } from "../../src/market/ip-range.ts";
import { leaseNamespace } from "../../src/market/lease-namespace.ts";
import { type IpOperatorOptions, type RunningIpOperator, startIpOperator } from "../../src/operators/ip/operator.ts";
import { realClock } from "../../src/runtime/clock.ts";
import { silentLog } from "../../src/runtime/log.ts";
import { realRandom } from "../../src/runtime/random.ts";
import { eventually } from "../support/eventually.ts";
import { createOwner } from "../support/owner.ts";
import { declarationOf, type PortWanted, shownService } from "../support/stages/ip-stage.ts";
import { labIsMissing, takeMetalLb } from "./cluster.ts";
import { exposeLease, leaseOf, randomAddress, webGroup } from "./exposed-lease.ts";
import { openKube } from "./open-kube.ts";
import {
  type OperatorAccount,
  type OperatorPlaces,
  ofPods,
  operatorAccount,
  operatorPlaces,
} from "./operator-account.ts";
import { addresses, bringMetalLb, makeNamespace, type PlayedMetalLb } from "./played-metallb.ts";
import { ask } from "./requests.ts";
import { checkGrants } from "./used-grants.ts";

const [first, second] = addresses;

describe("leased addresses in the lab", { skip: labIsMissing }, () => {
  const owner = createOwner();
  const provider = randomAddress();
  const [anna, bert] = [randomAddress(), randomAddress()];
  const [ann, annToo, ben] = [leaseOf(anna, provider), leaseOf(anna, provider), leaseOf(bert, provider)];
  let admin: Kube;
  let own: OperatorPlaces;
  let account: OperatorAccount;
  let begun: AuditMark;
  let metalLb: PlayedMetalLb;
  let operator: RunningIpOperator;
  let stop: () => Promise<void> = async () => undefined;
  let endTurn: () => void = () => undefined;

  before(async () => {
    endTurn = await takeMetalLb();
    own = await operatorPlaces(owner);
    await makeNamespace(owner);
    account = await operatorAccount(owner, "ip", own);
    begun = await markAudit();
    admin = openKube(owner, places.kubeconfig);
    const expose = (port: number) => `{ port: 8080, as: ${port}, to: [{ global: true, ip: blue }] }`;
    const endpoints = "endpoints: { blue: { kind: ip } }";
    const leases = [
      [ann, "ann", 80],
      [annToo, "annToo", 81],
      [ben, "ben", 80],
    ] as const;
    await Promise.all(
      leases.map(([lease, name, port]) =>
        exposeLease(owner, admin, {
          lease,
          group: webGroup(name, expose(port), endpoints),
          manifestNamespace: own.lease,
        }),
      ),
    );
  });
  after(async () => {
    await stop();
    await owner[Symbol.asyncDispose]();
    endTurn();
  });

  /** In the place of the one that runs, as after a restart. */
  async function start(options: Partial<IpOperatorOptions> = {}): Promise<void> {
    await stop();
    const ending = createOwner();
    const kube = openKube(ending, account.kubeconfig, { fieldManager: "akash-operator-ip" });
    const stopping = new AbortController();
    const endings: (() => unknown)[] = [];
    const tasks: Promise<void>[] = [];
    operator = startIpOperator(
      {
        ...{ provider, manifestNamespace: own.lease, pool: "default", ranges: [], metalLb: undefined },
        ...{ retryDelayMs: 3_000, pruneIntervalMs: 600_000, instance: "operator-ip-0" },
        ignoreList: { failureLimit: 3, entryLimit: 1_000, ageLimitMs: 726 * 3_600_000 },
        ...options,
      },
      {
        ...{ kube, clock: realClock, random: realRandom, log: silentLog },
        leadership: { leading: true, run: (signal, lead) => lead(signal) },
      },
      {
        signal: stopping.signal,
        task: (_, work) => void tasks.push(work(stopping.signal)),
        onStop: (end) => void endings.unshift(end),
      },
    );
    stop = async () => {
      stopping.abort();
      await Promise.allSettled(tasks);
      for (const end of endings) await end();
      await ending[Symbol.asyncDispose]();
    };
  }

  async function declare(lease: LeaseId, wanted: PortWanted = {}): Promise<void> {
    const { object } = leasedIp(declarationOf(lease, wanted), { manifestNamespace: own.lease });
    await admin.apply(kinds.providerLeasedIp, object);
  }
  const withdraw = (lease: LeaseId, wanted: PortWanted = {}) =>
    admin.delete(kinds.providerLeasedIp, {
      namespace: own.lease,
      name: leasedIpName(declarationOf(lease, wanted)),
    });

  /** Of these leases, as test/support/stages/ip-stage.ts shows them, with their owners' names for those of the leases. */
  async function shown(): Promise<string[]> {
    const all = await Promise.all(
      Object.entries({ ann, annToo, ben }).map(async ([name, lease]) => {
        const services = await admin.list(kinds.service, { namespace: leaseNamespace(lease) });
        const balancers = services.filter(({ spec }) => fieldsOf(spec)["type"] === "LoadBalancer");
        return balancers.map((each) => shownService(each).replace(`of ${lease.dseq}`, `of ${name}`));
      }),
    );
    return all.flat().sort();
  }
  const becomes = (...wanted: string[]) =>
    eventually(wanted.join("; ") || "nothing", async () => {
      assert.deepEqual(await shown(), wanted.toSorted());
      return true;
    });
  const conditions = () => operator.conditions.map(({ type, message }) => `${type}: ${message}`);
  const says = (text: RegExp) =>
    eventually(`${text}`, () => {
      if (conditions().some((each) => text.test(each))) return true;
      throw new Error(conditions().join("; "));
    });
  const answers = (at: string, page: string) =>
    eventually(`${at} to answer ${page}`, async () => {
      const { status, body } = await ask(at, { at });
      if (status !== 200 || body !== page) throw new Error(`${status} ${body}`);
      return true;
    });

  it("waits for a MetalLB that is not there, and finds it when it comes; the address leads to the workload", async () => {
    await start();
    await declare(ann);
    await says(/^MetalLbMissing: .*the cluster does not know ipaddresspools\.metallb\.io$/);
    assert.deepEqual(await shown(), []);
    metalLb = await bringMetalLb(owner);
    await metalLb.setPool("default", `${first}/32`);
    await becomes(`blue TCP 80 → web:8080 of ann at ${first}`);
    await answers(first, "ann");
    assert.deepEqual(conditions(), ["PoolExhausted: no IP addresses available in pool"]);
  });

  it("puts all ports of an endpoint on one address: those of another lease, and UDP beside TCP", async () => {
    await declare(annToo, { externalPort: 81 });
    await declare(ann, { externalPort: 80, protocol: "UDP" });
    await becomes(
      `blue TCP 80 → web:8080 of ann at ${first}`,
      `blue UDP 80 → web:8080 of ann at ${first}`,
      `blue TCP 81 → web:8080 of annToo at ${first}`,
    );
    await answers(`${first}:81`, "annToo");
    await answers(first, "ann");
  });

  it("reports an exhausted pool to the tenant, and assigns an address when the pool grows", async () => {
    await declare(ben);
    await says(/^PoolExhausted: no IP addresses available in pool/);
    assert.equal(operator.usage.free, 0n);
    assert.equal((await shown()).length, 3);
    await metalLb.setPool("default", `${first}-${second}`);
    await eventually("the tenant's address", async () =>
      (await shown()).includes(`blue TCP 80 → web:8080 of ben at ${second}`),
    );
    await answers(second, "ben");
    assert.deepEqual([operator.usage.total, operator.usage.inUse], [2n, 2n]);
  });

  it("writes nothing when it starts again with nothing to do", async () => {
    const mark = await markAudit();
    await start();
    // Both endpoints.
    const [queue] = operator.queues;
    const isThrough = () => queue && queue.counts.outcomes.done >= 2 && queue.size === 0;
    await eventually("all to be looked at", isThrough);
    assert.equal(operator.usage.inUse, 2n);
    await declare(ben, { externalPort: 82 });
    await eventually("the change", async () => (await shown()).length === 5);
    const written = (await auditedSince(mark, account.user)).filter(isWrite);
    const texts = written.map(({ verb, resource, namespace }) => `${verb} ${resource} ${namespace}`);
    assert.deepEqual(texts, [`patch services ${leaseNamespace(ben)}`]);
  });

  it("removes only withdrawn addresses", async () => {
    const uids = async () => {
      const lists = [ann, annToo, ben].map((lease) => admin.list(kinds.service, { namespace: leaseNamespace(lease) }));
      return (await Promise.all(lists)).flat().map(({ metadata }) => `${metadata.name} ${metadata.uid}`);
    };
    const before = await uids();
    await withdraw(ann, { protocol: "UDP" });
    await withdraw(ben, { externalPort: 82 });
    await becomes(
      `blue TCP 80 → web:8080 of ann at ${first}`,
      `blue TCP 81 → web:8080 of annToo at ${first}`,
      `blue TCP 80 → web:8080 of ben at ${second}`,
    );
    const gone = before.filter((each) => !/^web-ip-(80-udp|82-tcp) /.test(each));
    assert.deepEqual((await uids()).sort(), gone.sort(), "and the others are the same objects");
    for (const [lease, port] of [
      [ann, 80],
      [annToo, 81],
      [ben, 80],
    ] as const)
      await withdraw(lease, { externalPort: port });
    await becomes();
    // The operator hears of it a moment later.
    await eventually("nothing in use", () => operator.usage.inUse === 0n);
  });

  it("leases addresses of a range that is its own: a pool of one and an advertisement for each endpoint", async () => {
    await metalLb.removePool("default");
    await start({ ranges: [readAddressRange(`${first}-${second}`)] });
    await declare(ann);
    await declare(annToo, { externalPort: 81 });
    await becomes(`blue TCP 80 → web:8080 of ann at ${first}`, `blue TCP 81 → web:8080 of annToo at ${first}`);
    await declare(ben);
    await eventually("the tenant's address", async () => (await shown()).length === 3);
    await answers(`${first}:81`, "annToo");
    await answers(second, "ben");
    const names = async (kind: typeof kinds.ipAddressPool) =>
      (await admin.list(kind, { namespace: metalLbNamespace })).map(({ metadata }) => metadata.name).sort();
    const wanted = [`akash-ip-${anna}-ip-blue-tcp-80`, `akash-ip-${bert}-ip-blue-tcp-80`].sort();
    assert.deepEqual(await names(kinds.ipAddressPool), wanted);
    assert.deepEqual(await names(kinds.l2Advertisement), wanted);
    await withdraw(ann);
    await withdraw(annToo, { externalPort: 81 });
    await becomes(`blue TCP 80 → web:8080 of ben at ${second}`);
    await eventually("its pool to go", async () => (await names(kinds.ipAddressPool)).length === 1);
    await answers(second, "ben");
    await withdraw(ben);
    await becomes();
    await eventually("all to go", async () =>
      [await names(kinds.ipAddressPool), await names(kinds.l2Advertisement)].every(({ length }) => length === 0),
    );
  });

  it("did all of it with the rights of deploy/, each of them used", () => checkGrants(begun, account, ofPods));
});
