import { checkSecretStore } from "../../../test/secret-store.contract.ts";
import { namespace, simulateKube } from "../../../test/simulated-kube.ts";
import type { SimulatedCluster } from "../../box/cluster/simulated-kube.ts";

let cluster: SimulatedCluster | undefined;

checkSecretStore({
  name: "the simulated API server",
  namespace,
  open(t) {
    cluster ??= simulateKube(t);
    return cluster.connect("akash-provider");
  },
});
