import { checkDefinitions } from "../support/contracts/definitions.contract.ts";
import { namespace, simulateKube } from "../support/kube/simulated-kube.ts";

checkDefinitions({
  name: "the simulated cluster",
  skip: false,
  async open(owner) {
    const { connect } = simulateKube(owner);
    return { kube: connect("akash-provider"), connect, namespace, pod: undefined };
  },
});
