import { checkGoingBack } from "./going-back.contract.ts";
import { simulateKube } from "./simulated-kube.ts";

checkGoingBack("the simulated server", (owner) => simulateKube(owner).connect);
