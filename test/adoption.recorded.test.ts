import { checkAdoption } from "./adoption.contract.ts";
import { checkGoingBack } from "./going-back.contract.ts";
import { recordedLeases } from "./recorded-leases.ts";
import { simulateKube } from "./simulated-kube.ts";
import { thorough } from "./thorough.ts";

checkAdoption({
  server: "the simulated server",
  open(owner) {
    const cluster = simulateKube(owner);
    return (_owner, fieldManager) => cluster.connect(fieldManager);
  },
  // One with lists that no apply takes, one with volumes and a field that the server dropped.
  leases: () => recordedLeases().filter(({ from }) => thorough || /objects\/(dup|persistent)\/objects.json/.test(from)),
});

checkGoingBack("the simulated server", (owner) => simulateKube(owner).connect);
