import { webImage } from "../../lab/images.ts";
import { places } from "../../lab/places.ts";
import { createHttpKube } from "../../src/kube/http/http-kube.ts";
import { realClock } from "../../src/runtime/clock.ts";
import { silentLog } from "../../src/runtime/log.ts";
import { createSeededRandom } from "../../src/runtime/random.ts";
import { checkSkeleton } from "../skeleton.contract.ts";
import { labIsMissing } from "./cluster.ts";

checkSkeleton({
  name: "the lab",
  skip: labIsMissing,
  async open(owner) {
    const options = { fieldManager: "akash-provider", kubeconfig: places.kubeconfig };
    const kube = createHttpKube(options, { clock: realClock, random: createSeededRandom(1), log: silentLog });
    owner.after(() => kube.close());
    return kube;
  },
  image: webImage,
  port: 8080,
  page: "hello from the lab\n",
});
