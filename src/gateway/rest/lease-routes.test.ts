import assert from "node:assert/strict";
import { test } from "node:test";
import type { RunningLease, TenantLease } from "../../kube/tenant-access.ts";
import { parseAddress } from "../../market/address.ts";
import type { CallerIdentity } from "../auth/identity.ts";
import { leaseRoutes } from "./lease-routes.ts";
import type { LeaseRoute } from "./route.ts";

const owner = parseAddress("akash1qqqsyqcyq5rqwzqfpg9scrgwpugpzysnwduagr");
const provider = parseAddress("akash1zs23v9ccrydpk8qarc0jqgfzyvjz2f38jm8da6");
const counts = { observedGeneration: 3, replicas: 2, updatedReplicas: 2, readyReplicas: 1, availableReplicas: 1 };
const running: RunningLease = {
  state: "running",
  services: [
    { name: "api", hosts: [], ...counts },
    { name: "web", hosts: ["a.example.com"], ...counts },
  ],
  forwardedPorts: undefined,
  addresses: undefined,
  errors: [],
};

function requester(lease: TenantLease, shown?: readonly string[]) {
  const routes = leaseRoutes({ provider, leases: { find: () => lease } });
  return (path: "status" | "service", serviceName = "web") => {
    const route = routes.find((each) => each.path.includes("/service/") === (path === "service")) as LeaseRoute;
    const servicesOf = () => shown && new Set(shown);
    const identity = { owner, mayUseProvider: true, untilMs: undefined, servicesOf } as unknown as CallerIdentity;
    const input = { identity, owner, dseq: 1n, gseq: 1, oseq: 1, names: { serviceName } };
    const answer = route.handle(input as unknown as Parameters<LeaseRoute["handle"]>[0]);
    assert.ok(!(answer instanceof Promise), "answered synchronously");
    return [answer.status, `${answer.body}`];
  };
}

test("missing lease → the Go provider's message, with the reason if known", () => {
  const rows: [TenantLease, status: string, service: string][] = [
    [{ state: "unknown" }, "", "kube: lease not found\n"],
    [{ state: "bare" }, "", "kube: no manifest for lease\n"],
    [{ state: "idle" }, "kube: no deployments for lease\n", "kube: no deployments for lease\n"],
    [{ state: "bare", why: "x" }, "kube: no deployments for lease: x\n", "kube: no manifest for lease: x\n"],
    [running, "", "kube: no service for that lease\n"],
  ];
  for (const [lease, status, service] of rows) {
    const ask = requester(lease);
    if (lease !== running) assert.deepEqual(ask("status"), [404, status]);
    assert.deepEqual(ask("service", "constructor"), [404, service]);
  }
});

test("nothing requested → null, not assigned yet → empty list", () => {
  const seen = (lease: RunningLease) => String(requester(lease)("status")[1]);
  assert.match(seen(running), /"uris":null,.*"uris":\["a\.example\.com"\],.*"forwarded_ports":null,"ips":null}$/);
  assert.match(seen({ ...running, forwardedPorts: [], addresses: [] }), /"forwarded_ports":{},"ips":{}}$/);
  const port = { service: "web", port: 80, externalPort: 30_000, protocol: "UDP" };
  const reached = seen({
    ...running,
    forwardedPorts: [{ ...port, host: "" }],
    addresses: [{ ...port, address: "203.0.113.7" }],
  });
  assert.match(reached, /"forwarded_ports":{"web":\[{"port":80,"externalPort":30000,"proto":"UDP","name":"web"}\]}/);
  assert.match(reached, /"ips":{"web":\[{"Port":80,"ExternalPort":30000,"Protocol":"UDP","IP":"203\.0\.113\.7"}\]}}$/);
});

test("token for one service → that service, and errors of the whole lease", () => {
  const errors = [
    { service: "api", text: "api: CrashLoop: <it> ends" },
    { service: "web", text: "web: ImageError: no such image" },
    { service: undefined, text: "withheld: b.example.com: held by another owner" },
  ];
  const lease = { ...running, errors };
  assert.match(
    String(requester(lease)("status")[1]),
    /"errors":\["api: CrashLoop: \\u003cit\\u003e ends","web: .*"\]}$/,
  );
  const [, shown = ""] = requester(lease, ["web"])("status");
  const { services, errors: shownErrors } = JSON.parse(String(shown)) as { services: object; errors: string[] };
  assert.deepEqual([Object.keys(services), shownErrors.length], [["web"], 2]);
  assert.equal(requester(lease, ["web"])("service")[0], 200);
  assert.throws(() => requester(lease, ["web"])("service", "api"), /unauthorized access/);
});
