import assert from "node:assert/strict";
import { test } from "node:test";
import { openGrpcClient } from "../../../test/support/grpc-client.ts";
import { certificateOf } from "../../../test/support/stages/gateway-stage.ts";
import type { PodLine } from "../../kube/tenant-access.ts";
import { addressOf } from "../../market/address.ts";
import { realClock } from "../../runtime/clock.ts";
import { ProviderError } from "../../runtime/errors.ts";
import { providerLeaseV1ServiceStatusRequest } from "../../runtime/grpc/akash-proto.ts";
import { grpcCodes } from "../../runtime/grpc/grpc-status.ts";
import { untilAborted } from "../../runtime/lifecycle.ts";
import { silentLog } from "../../runtime/log.ts";
import type { CallerIdentity } from "../auth/identity.ts";
import { createRequestBudget } from "../rest/connections.ts";
import { createLeaseCalls } from "./grpc-auth.ts";
import { startGrpcGateway } from "./grpc-gateway.ts";
import { createLeaseRpc } from "./lease-rpc.ts";

const [owner, provider] = [addressOf(Buffer.alloc(20, 1)), addressOf(Buffer.alloc(20, 2))];
const identity: CallerIdentity = {
  ...{ owner, mayUseProvider: true, untilMs: undefined },
  ...{ mayUseDeployment: () => true, mayUseLease: () => true, servicesOf: () => undefined },
};

test("logs that are being gathered when the lease is closed end with that, as a status that clients read", async (t) => {
  let ending = new AbortController();
  const calls = createLeaseCalls({
    ...{ provider, identify: () => identity },
    admission: {
      admit() {
        ending = new AbortController();
        return {
          signal: ending.signal,
          tenant: "",
          end: () => undefined,
          leave: () => undefined,
          release: () => undefined,
        };
      },
    },
  });
  const running = {
    state: "running",
    services: [],
    forwardedPorts: undefined,
    addresses: undefined,
    errors: [],
  } as const;
  const service = createLeaseRpc({
    ...{ calls, leases: { find: () => running }, manifests: { submit: () => assert.fail() }, clock: realClock },
    pods: {
      async *logs(_, { signal }): AsyncGenerator<PodLine[]> {
        yield [];
        ending.abort(new ProviderError("AKP_STREAM_LEASE_CLOSED", {}));
        await untilAborted(signal);
      },
    },
  });
  const gateway = await startGrpcGateway({
    ...{ listen: { host: "127.0.0.1", port: 0 }, own: certificateOf("akash1provider"), services: [service] },
    ...{
      budget: createRequestBudget(),
      clock: realClock,
      log: silentLog,
      onHandshakeFailure: () => undefined,
      onRejection: () => undefined,
    },
  });
  t.after(() => gateway.close());
  const client = openGrpcClient(t, `https://127.0.0.1:${gateway.port}`, { rejectUnauthorized: false });
  const leaseId = { owner: "", dseq: 7n, gseq: 1, oseq: 1, provider: "", bseq: 0 };
  const request = providerLeaseV1ServiceStatusRequest.encode({ leaseId, services: [] });
  for (const method of ["ServiceLogs", "StreamServiceLogs"]) {
    const { status, words } = await client.call(`/akash.provider.lease.v1.LeaseRPC/${method}`, request);
    assert.equal(status, grpcCodes.NotFound, `${method}: ${words}`);
    assert.match(words, /AKP_STREAM_LEASE_CLOSED/);
  }
});
