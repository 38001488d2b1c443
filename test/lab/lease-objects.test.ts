/** The objects of leases on a real API server with its controllers; no pod ever runs. */
import { after, describe } from "node:test";
import { controlPlaneMissing, sharedControlPlane } from "../../lab/own-control-plane.ts";
import { leaseObjectsContract } from "../support/contracts/lease-objects.contract.ts";
import { runs } from "../support/runs.ts";
import { openKube } from "./open-kube.ts";

const skip = controlPlaneMissing(["kube"]);
const kubeconfig = skip ? "" : await sharedControlPlane({ after });

describe("on a real API server", { skip }, () => {
  leaseObjectsContract({
    numRuns: runs(15, 300),
    open: async (owner) => ({
      connect: (fieldManager = "akash-provider") => openKube(owner, kubeconfig, { fieldManager }),
      // Nothing to wait for: controllers write when they like, before or after we look.
      settle: async () => undefined,
    }),
  });
});
