import { checkKubeContract } from "./kube.contract.ts";
import { box, namespace, simulateBox } from "./simulated-kube.ts";

checkKubeContract({
  name: "the simulated cluster",
  skip: false,
  async open(owner) {
    const { connect } = await simulateBox(owner);
    return { kube: connect("akash-provider"), connect, namespace, pod: box };
  },
});
