import assert from "node:assert/strict";
import { test } from "node:test";
import { parseAddress } from "../../market/address.ts";
import type { DeploymentId } from "../../market/ids.ts";
import { ProviderError } from "../../runtime/errors.ts";
import type { CallerIdentity } from "../auth/identity.ts";
import { manifestRoutes, type TenantManifests } from "./manifest-routes.ts";
import type { DeploymentRoute } from "./route.ts";

const owner = parseAddress("akash1qqqsyqcyq5rqwzqfpg9scrgwpugpzysnwduagr");
const provider = parseAddress("akash1zs23v9ccrydpk8qarc0jqgfzyvjz2f38jm8da6");

function requestOf(manifests: Partial<TenantManifests>, signal: AbortSignal) {
  const leases = { runs: () => true, leasesOf: () => [] };
  const routes = manifestRoutes({ provider, leases, manifests: manifests as TenantManifests });
  return async (method: "PUT" | "DELETE") => {
    const route = routes.find((each) => each.method === method) as DeploymentRoute;
    const identity = { servicesOf: () => undefined } as unknown as CallerIdentity;
    const input = { identity, owner, dseq: 7n, gseq: 0, oseq: 0, names: {}, body: Buffer.from("[]"), signal };
    return route.handle({ ...input, header: () => undefined, query: new URLSearchParams() });
  };
}

test("client leaves → its request ends without an error in the log", async () => {
  for (const method of ["PUT", "DELETE"] as const) {
    const leaving = new AbortController();
    const { promise: started, resolve } = Promise.withResolvers<void>();
    const work = (_: DeploymentId, ...rest: unknown[]) => {
      const signal = rest.at(-1) as AbortSignal;
      resolve();
      return new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
    };
    const answer = requestOf({ submit: work, withdraw: work }, leaving.signal)(method);
    await started;
    leaving.abort();
    await assert.rejects(answer, (thrown) => ProviderError.is(thrown, "AKP_GATEWAY_CLIENT_GONE"));
  }
});

test("what is wrong with a manifest is not taken for a client that goes away", async () => {
  const submit = () => Promise.reject(new ProviderError("AKP_NO_LEASE", {}));
  await assert.rejects(requestOf({ submit }, new AbortController().signal)("PUT"), /no lease for deployment/);
});
