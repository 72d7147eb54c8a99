// Starts the controllers: those that clean up always, those that make a cluster of it when there is something to run pods.
import type { World } from '../world.ts';
import { type Controller, type Running, startController } from './controller.ts';
import { deploymentController } from './deployments.ts';
import { endpointMirrorController } from './endpoint-mirror.ts';
import { endpointSliceController } from './endpoint-slices.ts';
import { endpointsController } from './endpoints.ts';
import { garbageController, namespaceController, nodeGarbageController } from './garbage.ts';
import { loadBalancerController } from './load-balancers.ts';
import { type PodRuntime, podController } from './pods.ts';
import { replicaSetController } from './replica-sets.ts';
import { schedulerController } from './scheduler.ts';

/** Without a runtime, pods, endpoints and load balancer addresses are whatever clients write. */
export function startControllers(
  world: World,
  runtime: PodRuntime | undefined,
  onProblem: (problem: unknown) => void,
): { stop(): Promise<void> } {
  const pods = runtime && podController(world, runtime, onProblem);
  const controllers: Controller[] = [
    garbageController(world),
    namespaceController(world),
    nodeGarbageController(world),
  ];
  if (pods) {
    controllers.push(
      deploymentController(world),
      replicaSetController(world),
      schedulerController(world),
      pods.controller,
      endpointSliceController(world),
      endpointsController(world),
      endpointMirrorController(world),
      loadBalancerController(world),
    );
  }
  const running: Running[] = controllers.map((controller) => startController(world, controller, onProblem));
  return {
    async stop() {
      for (const one of running) one.stop();
      await pods?.stop();
    },
  };
}
