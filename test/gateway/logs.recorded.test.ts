/**
 * Replays every recorded log stream against a whole provider over TLS, with containers that print the same: the same frames
 * and ends, except for the differences listed here.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Behaviour } from "../../src/box/cluster/components/kubelet/behaviour.ts";
import { kinds } from "../../src/kube/kinds.ts";
import { bidOn } from "../../src/market/ids.ts";
import { leaseNamespace } from "../../src/market/lease-namespace.ts";
import type { Sdl } from "../../src/market/sdl/sdl.ts";
import { eventually } from "../support/eventually.ts";
import type { GatewayTenant } from "../support/gateway-tenant.ts";
import { startGatewayStage } from "../support/stages/gateway-stage.ts";
import { createRecordings, readGatewayVectors, rejectedWith, requestOf } from "./recorded-gateway.ts";
import { createStreamComparison, type IntendedStream, type RecordedStream } from "./recorded-streams.ts";
import { oneService, services, threeServices } from "./recorded-tenants.ts";

const domain = "ingress.lab.test";
const done = { code: 1000, reason: "" };
const longLine = "x".repeat(70_000);

const intended: readonly IntendedStream[] = [
  {
    why: "a log that has ended says so in a close frame",
    of: ({ end }) => end === "tcp, no close frame",
    close: done,
  },
  {
    why: "lines have any length",
    of: /^a line over 64 KiB$/,
    shown: ['long: "before"', `long: "${longLine}"`, 'long: "after"'],
  },
  {
    why: "the network's own CLI says services",
    of: /^parameter services \(plural\) is not read$/,
    shown: ['web: "err 1"'],
  },
  {
    why: "an unknown service gets a message, whatever its name",
    of: /^service name that is no label value$/,
    close: { code: 4000, reason: "no running pods" },
  },
  {
    why: "followers get the reason of the end",
    of: /^follow, then the deployment is closed$/,
    close: { code: 1000, reason: "the lease is closed" },
  },
  {
    why: "a pod that cannot start keeps no other from being read",
    of: /^image cannot be pulled: logs of all services$/,
    ...{ shown: ['web: "ready"'], close: done },
  },
  {
    why: "a pod that cannot start may start yet, and is followed from its first line",
    of: /^image cannot be pulled: logs of the bad service, follow$/,
    goesOn: true,
  },
];

test("recorded log streams → the recorded frames, or listed differences", async (t) => {
  /** By lease and service, so that those of one name may differ. */
  const behaviours = new Map<string, Behaviour>();
  const stage = await startGatewayStage(t, {
    tenants: 3,
    leases: { hosts: { blockedHosts: [], ingressDomain: domain, staticHostDomain: domain } },
    behaviour: (_, { pod, container }) => behaviours.get(`${pod.metadata.namespace} ${container.name}`),
  });
  const [one, two, three] = stage.tenants as [GatewayTenant, GatewayTenant, GatewayTenant];
  const namespaceOf = ({ address: owner }: GatewayTenant, dseq: bigint) =>
    leaseNamespace(bidOn({ owner, dseq, gseq: 1, oseq: 1 }, stage.provider.address));

  async function deploy(
    tenant: GatewayTenant,
    dseq: bigint,
    sdl: Sdl,
    containers: Readonly<Record<string, Behaviour>>,
  ): Promise<void> {
    const namespace = namespaceOf(tenant, dseq);
    for (const [name, behaviour] of Object.entries(containers)) behaviours.set(`${namespace} ${name}`, behaviour);
    await tenant.deployed(dseq, sdl);
    const wanted = Object.values(containers).length;
    const isSlow = Object.values(containers).some(({ startMs }) => startMs !== undefined);
    await eventually(`pods of ${dseq}`, () => {
      const pods = stage.cluster.server.list(kinds.pod, { namespace });
      return pods.length >= wanted && (isSlow || pods.every((pod) => hasBegun(pod["status"])));
    });
  }

  const { vectors } = readGatewayVectors("logs.json");
  const certificate = await one.certificate();
  const recordings = createRecordings(vectors as readonly RecordedStream[]);
  const comparison = createStreamComparison({
    ...{ show: (frames) => shown(frames), intended, translate: (recorded) => recorded },
    answers: [
      {
        why: "the services of a token are enforced",
        of: /^token for another service/,
        ...rejectedWith("unauthorized access"),
      },
    ],
  });

  function credentialsOf({ request: { auth = "none" } }: RecordedStream) {
    if (auth.startsWith("mTLS")) return { certificate, authorization: undefined };
    return { authorization: auth.startsWith("JWT") ? bearerOf(auth) : undefined };
  }

  function bearerOf(auth: string): string | undefined {
    const tenant = stage.tenants[Number(/tenant(\d)/.exec(auth)?.[1]) - 1];
    const scope = /scoped \[(\w+)\]/.exec(auth)?.[1];
    if (scope) return tenant?.bearer({ leases: { access: "scoped", scope: [scope] } });
    const service = /services \[(\w+)\]/.exec(auth)?.[1];
    const deployments = [{ dseq: 4_100_001, scope: ["logs"], services: [service] }];
    const permissions = [{ provider: stage.provider.address, access: "granular", deployments }];
    return tenant?.bearer(service === undefined ? {} : { leases: { access: "granular", permissions } });
  }

  async function play(
    names: readonly RegExp[],
    translate = (path: string) => path,
    then?: () => Promise<void>,
  ): Promise<void> {
    for (const vector of recordings.take(...names)) {
      const request = { ...requestOf(vector, translate), ...credentialsOf(vector) };
      await comparison.play(stage.port, vector, request, then);
    }
  }

  // Its key is known to the chain from then on.
  await three.certificate();
  await one.lease(4_100_009n);
  await play([/no manifest sent$/], (path) => path.replace("4100001", "4100009"));
  const ready = printing("ready");
  await deploy(one, 4_100_001n, threeServices(), {
    web: printing(
      "out 1",
      "",
      '<a&b> "q" \\ end',
      "tab\there café bad\ufffdbyte",
      "\u001b[31mred\u001b[0m",
      "out 2\r",
      "err 1",
    ),
    long: printing("before", longLine, "after"),
    api: { logs: (n) => `tick ${n}`, logEveryMs: 20 },
  });
  await play([/^(?!logs, |follow, then|service that ends|API server|persistent|image cannot)/]);
  await deploy(two, 4_100_005n, oneService("d5.rec.test"), {
    web: { ...printing("dying"), exitAfterMs: 1, exitCode: 3 },
  });
  await play([/^service that ends at once$/]);

  await deploy(two, 4_100_103n, oneService("d3.rec.test"), { web: ready });
  await play([/^follow, then the deployment is closed$/], undefined, () => two.close(4_100_103n));
  await eventually(
    "no namespace",
    () => !stage.cluster.server.get(kinds.namespace, { name: namespaceOf(two, 4_100_103n) }),
  );
  await play([/^logs, closed, namespace gone$/]);

  await deploy(one, 4_100_007n, services("db"), { db: { ...ready, startMs: 600_000 } });
  await play([/^logs, pod starting$/]);
  await deploy(one, 4_100_008n, services("bad", "web"), { web: ready, bad: { missing: true } });
  await play([/^image cannot be pulled/]);
  await deploy(one, 4_100_010n, services("db"), { db: ready });
  await play([/^persistent storage: logs$/], (path) => path.replace("4100007", "4100010"));

  stage.cluster.faults.reject({ status: 503, times: Number.POSITIVE_INFINITY });
  stage.cluster.faults.cutWatches();
  await eventually("an error", async () => (await stage.services.cluster)?.view.workloads.error !== undefined);
  await play([/^API server unreachable/]);
  stage.cluster.faults.clear();
  recordings.finish();
  comparison.finish();
});

function printing(...lines: readonly string[]): Behaviour {
  return { logs: (n) => lines[n] };
}

function hasBegun(status: unknown): boolean {
  return /"(running|terminated|ErrImagePull|ImagePullBackOff|CrashLoopBackOff)"/.test(JSON.stringify(status ?? {}));
}

/** As "service: line", in the order of the services: several write at once. Which pod of a service it was, only its name says. */
function shown(frames: readonly Buffer[]): string[] {
  const lines = frames.map((bytes) => {
    const text = bytes.toString();
    const [, service, pod, message] = /^\{"name":"([a-z]+)-([a-z0-9-]+)","message":(".*")\}\n$/s.exec(text) ?? [];
    assert.ok(service && pod && message, text);
    return { service, message };
  });
  lines.sort((a, b) => (a.service < b.service ? -1 : a.service > b.service ? 1 : 0));
  return lines.map(({ service, message }) => `${service}: ${message}`.replace(/tick \d+/, "tick"));
}
