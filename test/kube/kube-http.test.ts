import { createHttpKube } from "../../src/kube/http/http-kube.ts";
import type { Kube } from "../../src/kube/kube.ts";
import { realClock } from "../../src/runtime/clock.ts";
import { silentLog } from "../../src/runtime/log.ts";
import { realRandom } from "../../src/runtime/random.ts";
import { checkKubeContract } from "../support/contracts/kube.contract.ts";
import { temporaryFolder } from "../support/folder.ts";
import { box, namespace, simulateBox } from "../support/kube/simulated-kube.ts";
import { startKubeHttpServer } from "../support/kube-http-server.ts";

checkKubeContract({
  name: "the HTTP client",
  skip: false,
  async open(owner) {
    const face = await startKubeHttpServer(owner, await simulateBox(owner));
    const kubeconfig = face.writeKubeconfig(temporaryFolder(owner));
    const connect = (fieldManager: string): Kube => {
      const deps = { clock: realClock, random: realRandom, log: silentLog };
      const kube = createHttpKube({ kubeconfig, fieldManager }, deps);
      owner.after(() => kube.close());
      return kube;
    };
    return { kube: connect("akash-provider"), connect, namespace, pod: box };
  },
});
