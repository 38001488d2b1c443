/**
 * Host names of tenants through a real Traefik, requested from outside of the cluster, with the hostname operator in this process, as its
 * service account and with the roles of deploy/.
 */
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { after, before, describe, it } from "node:test";
import { type AuditMark, markAudit } from "../../lab/audit.ts";
import { places } from "../../lab/places.ts";
import { kinds, resourceOf } from "../../src/kube/kinds.ts";
import type { Kube } from "../../src/kube/kube.ts";
import { providerHost, providerHostName } from "../../src/kube/objects/provider-host.ts";
import type { LeaseId } from "../../src/market/ids.ts";
import { leaseNamespace } from "../../src/market/lease-namespace.ts";
import { middleware, serversTransport } from "../../src/operators/hostname/backends/backend.ts";
import {
  createHostnameOperator,
  type HostnameOperator,
  type HostnameOperatorOptions,
} from "../../src/operators/hostname/operator.ts";
import { realClock } from "../../src/runtime/clock.ts";
import { createLifecycle } from "../../src/runtime/lifecycle.ts";
import { silentLog } from "../../src/runtime/log.ts";
import { realRandom } from "../../src/runtime/random.ts";
import { eventually } from "../support/eventually.ts";
import { definitionOf } from "../support/kube/kube-definition.ts";
import { createOwner } from "../support/owner.ts";
import { controllerKinds, plainOptions, stateText } from "../support/stages/hostname-stage.ts";
import { kubectl, labIsMissing, takeRoutes } from "./cluster.ts";
import { exposeLease, leaseOf, randomAddress, webGroup } from "./exposed-lease.ts";
import { openKube } from "./open-kube.ts";
import { type OperatorAccount, ofPods, operatorAccount, operatorPlaces } from "./operator-account.ts";
import { ask, type StreamCount, streamTo } from "./requests.ts";
import { checkGrants } from "./used-grants.ts";

const domain = `${randomBytes(4).toString("hex")}.lab.invalid`;
/** A thousand bytes, and four seconds to answer in, which a page takes on no busy machine either. */
const httpOptions = "http_options: { max_body_size: 1000, read_timeout: 4000 }";
const limited = `{ port: 8080, as: 80, ${httpOptions}, to: [{ global: true }] }`;
/** As of most tenants: the network's tools fill in defaults. */
const plain = "{ port: 8080, as: 80, to: [{ global: true }] }";
const clock = realClock;

const traefik: Partial<HostnameOperatorOptions> = { ingressProvider: "traefik", ingressClass: "traefik" };
const gateway: Partial<HostnameOperatorOptions> = { ingressMode: "gateway-api", gatewayProvider: "traefik" };

describe("host names through Traefik", { skip: labIsMissing }, () => {
  const owner = createOwner();
  const provider = randomAddress();
  const [anna, bert] = [randomAddress(), randomAddress()];
  const [ann, annToo, ben] = [leaseOf(anna, provider), leaseOf(anna, provider), leaseOf(bert, provider)];
  let admin: Kube;
  let manifestNamespace: string;
  let account: OperatorAccount;
  let begun: AuditMark;
  let endTurn: () => void = () => undefined;
  let operator: HostnameOperator;
  let stop: () => Promise<void> = async () => undefined;

  before(async () => {
    endTurn = await takeRoutes();
    admin = openKube(owner, places.kubeconfig);
    const own = await operatorPlaces(owner);
    account = await operatorAccount(owner, "hostname", own);
    manifestNamespace = own.lease;
    begun = await markAudit();
    const leases = Object.entries({ ann, annToo, ben });
    await Promise.all(
      leases.map(([name, lease]) =>
        exposeLease(owner, admin, {
          lease,
          group: webGroup(name, lease === ben ? plain : limited),
          manifestNamespace,
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
  async function start(options: Partial<HostnameOperatorOptions>): Promise<void> {
    await stop();
    const ending = createOwner();
    const kube = openKube(ending, account.kubeconfig, { fieldManager: "akash-operator-hostname" });
    operator = createHostnameOperator(
      { ...plainOptions, manifestNamespace, ...options },
      { kube, clock, random: realRandom, log: silentLog },
    );
    const stopping = new AbortController();
    const running = createLifecycle({ services: [operator], clock, log: silentLog }).run(stopping.signal);
    const leading = operator.lead(stopping.signal);
    stop = async () => {
      stopping.abort();
      await Promise.allSettled([running, leading]);
      await ending[Symbol.asyncDispose]();
    };
  }

  async function declare(host: string, lease: LeaseId): Promise<void> {
    const declaration = { lease, host, service: "web", externalPort: 80 };
    await admin.apply(kinds.providerHost, providerHost(declaration, { manifestNamespace }).object);
  }
  const withdraw = (host: string) =>
    admin.delete(kinds.providerHost, { namespace: manifestNamespace, name: providerHostName(host) });

  const becomes = (host: string, text: RegExp) =>
    eventually(`${host} to be ${text.source}`, () => {
      const state = stateText(operator.states.get(host));
      if (!text.test(state)) throw new Error(state);
      return true;
    });
  const answers = (host: string, page: string) =>
    eventually(`${host} to answer ${page}`, async () => {
      const { status, body } = await ask(host);
      if (status !== 200 || body !== page) throw new Error(`${status} ${body}`);
      return true;
    });
  /** Of all kinds, sorted: "Ingress". */
  async function routesOf(lease: LeaseId): Promise<string[]> {
    const of = [kinds.ingress, kinds.httpRoute, middleware, serversTransport];
    const lists = await Promise.all(of.map((kind) => admin.list(kind, { namespace: leaseNamespace(lease) })));
    return lists.flatMap((objects, at) => objects.map(() => of[at]?.kind ?? "")).sort();
  }
  const countText = ({ requests, lost, gapMs, bodies }: StreamCount) =>
    `${requests} requests, ${lost.length} of them lost, ${gapMs} ms without an answer; answered by ${bodies.join(", ")}`;

  /** Traefik needs some seconds until it has the time-out. */
  const takesTooLong = (name: string) =>
    eventually("the time-out", async () => (await ask(name, { path: "/cgi-bin/slow" })).status === 504);
  const eats = async (name: string, bytes: number) =>
    (await ask(name, { path: "/cgi-bin/eat", body: "x".repeat(bytes) })).status;

  const host = `web.${domain}`;

  it("an Ingress routes a tenant's name to its workload, with the tenant's body size limit and time-out", async () => {
    await start(traefik);
    await declare(host, ann);
    await answers(host, "ann");
    // Responses are buffered because of the size limit.
    await becomes(host, /^served healthy: OptionNotHonoured$/);
    assert.deepEqual([await eats(host, 1_000), await eats(host, 1_001)], [200, 413]);
    await takesTooLong(host);
  });

  it("without a body size limit responses are not buffered: chunked ones arrive in chunks, empty ones empty", async () => {
    const name = `plain.${domain}`;
    await declare(name, ben);
    await answers(name, "ben");
    const go = () => void ask(name, { path: "/cgi-bin/go" });
    // Held back, its first piece would come when the rest no longer can.
    assert.equal((await ask(name, { path: "/cgi-bin/stream", onBegin: go })).body, "one\ntwo\n");
    assert.equal((await ask(name, { path: "/cgi-bin/empty" })).status, 200);
    await withdraw(name);
  });

  for (const [kind, options] of Object.entries({ Ingress: traefik, HTTPRoute: gateway })) {
    if (kind === "HTTPRoute") describeSwitch();

    it(`a move between two leases of one owner under a stream of requests loses none: ${kind}`, async (t) => {
      await start(options);
      for (const [to, from, page] of [
        [annToo, ann, "annToo"],
        [ann, annToo, "ann"],
      ] as const) {
        const stream = streamTo(host);
        await stream.more(100);
        await declare(host, to);
        await eventually("the old route to go", async () => (await routesOf(from)).length === 0);
        await answers(host, page);
        await stream.more(100);
        const count = await stream.stop();
        t.diagnostic(countText(count));
        assert.deepEqual(count.lost, []);
      }
    });
  }

  function describeSwitch(): void {
    it("going over to the Gateway API makes the new route first, then the Ingress goes, and no request is lost", async (t) => {
      const stream = streamTo(host);
      await stream.more(100);
      await start(gateway);
      const isAlone = async () => (await routesOf(ann)).join() === "HTTPRoute,Middleware,Middleware";
      await eventually("the Ingress to go", isAlone);
      await stream.more(100);
      const count = await stream.stop();
      t.diagnostic(countText(count));
      assert.deepEqual(count.lost, []);
    });

    it("through the Gateway API the body size limit holds, and the time-out is reported as not honoured", async () => {
      await becomes(host, /^served healthy: OptionNotHonoured, OptionNotHonoured$/);
      assert.deepEqual([await eats(host, 1_000), await eats(host, 1_001)], [200, 413]);
      assert.equal((await ask(host, { path: "/cgi-bin/slow" })).status, 200);
      assert.deepEqual(
        operator.states.get(host)?.conditions.map(({ message }) => message),
        [
          "max_body_size 1000: it is kept, but Traefik then holds every answer back until it is whole",
          "read_timeout 4000: Traefik has no time-outs for routes of the Gateway API",
        ],
      );
    });
  }

  for (const [kind, options] of Object.entries({ HTTPRoute: gateway, Ingress: traefik })) {
    it(`a name goes before a wildcard, and another tenant gets neither: ${kind}`, async () => {
      await start(options);
      const [wildcard, exact, theirs] = [`*.${kind}.${domain}`, `app.${kind}.${domain}`, `more.${kind}.${domain}`].map(
        (each) => each.toLowerCase(),
      ) as [string, string, string];
      await declare(wildcard, ann);
      await declare(exact, annToo);
      await answers(exact, "annToo");
      await answers(theirs, "ann");
      await declare(theirs, ben);
      await becomes(theirs, /^refused unknown: HostnameInUse$/);
      await declare(exact, ben);
      await becomes(exact, /^refused unknown: OwnerChanged$/);
      // Time-outs of the tenant's own Service are not shown to other tenants.
      const made = (await routesOf(ben)).filter((each) => each !== serversTransport.kind);
      assert.deepEqual(made, []);
      await answers(theirs, "ann");
      await answers(exact, "annToo");
      // Given up, it is another's to have.
      for (const name of [wildcard, exact]) await withdraw(name);
      await answers(theirs, "ben");
      await withdraw(theirs);
      await eventually("nothing to be left", async () => (await routesOf(ben)).length === 0);
    });
  }

  it("policies of NGINX Gateway Fabric come and go with their route, where the cluster knows them", async () => {
    const { fabric } = controllerKinds;
    for (const kind of fabric) await admin.apply(kinds.customResourceDefinition, definitionOf(kind));
    owner.after(async () => void (await kubectl("delete", "customresourcedefinition", ...fabric.map(resourceOf))));
    await start({ ...gateway, gatewayProvider: "nginx" });
    const made = async () => {
      const lists = fabric.map((kind) => admin.list(kind, { namespace: leaseNamespace(ann) }));
      return (await Promise.all(lists)).flat().length;
    };
    await eventually("its policies", async () => (await made()) === 2);
    await withdraw(host);
    await eventually("nothing to be left", async () => (await made()) === 0);
  });

  it("the operator did all of it with the rights of deploy/, each of them used", () =>
    checkGrants(begun, account, ofPods));
});
