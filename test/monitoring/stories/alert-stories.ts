import type { SimCluster } from './sim-cluster.ts';

/** Events in a cluster, and the alerts that should fire. */
export interface AlertStory {
  readonly name: string;
  readonly tell: (cluster: SimCluster) => Promise<void>;
  readonly want: readonly string[];
}

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

/** No more events: alerts that are to fire do so by then. */
const AFTER = HOUR;

/** By then, a component's pods count as redundant. */
const SETTLED = 30 * MINUTE;

/** Daily operations on components, with any number of replicas. */
function everyday(replicas: number): readonly AlertStory[] {
  const of = replicas === 1 ? '1 replica' : `${replicas} replicas`;
  const story = (
    name: string,
    tell: (component: Awaited<ReturnType<SimCluster['deploy']>>, cluster: SimCluster) => Promise<void>,
  ): AlertStory => ({
    name: `${of}: ${name}`,
    want: [],
    async tell(cluster) {
      cluster.coordinators(2);
      await cluster.run(MINUTE);
      const component = await cluster.deploy('component', replicas);
      await cluster.run(SETTLED);
      await tell(component, cluster);
      await cluster.run(AFTER);
    },
  });
  return [
    story('deployed three times within an hour', async (component, cluster) => {
      for (let deploys = 0; deploys < 3; deploys++) {
        await component.roll();
        await cluster.run(20 * MINUTE);
      }
    }),
    story('upgraded, and rolled back', async (component, cluster) => {
      await component.roll('1.37.0');
      await cluster.run(20 * MINUTE);
      await component.roll('1.36.0');
    }),
    story('stopped and started again in an upgrade', (component) => component.recreate('1.37.0')),
    story('the node of the leader is drained', (component) => component.drain(component.leader)),
    story('all nodes are drained, one after the other', async (component, cluster) => {
      for (const pod of [component.leader, ...component.others]) {
        await component.drain(pod);
        await cluster.run(2 * MINUTE);
      }
    }),
    story('the leader crashes', (component) => component.crash(component.leader)),
    story('the leader crashes again and again', async (component, cluster) => {
      for (let crashes = 0; crashes < 5; crashes++) {
        await component.crash(component.leader);
        await cluster.run(4 * MINUTE);
      }
    }),
    story('scaled to nothing', (component) => component.scaleTo(0)),
    story('scaled to nothing some time after a deploy', async (component, cluster) => {
      await component.roll();
      await cluster.run(20 * MINUTE);
      await component.scaleTo(0);
    }),
    story('scaled to nothing, and the coordinator is updated', async (component, cluster) => {
      await component.scaleTo(0);
      await cluster.run(5 * MINUTE);
      await cluster.rollCoordinators();
    }),
    story('scaled to nothing, and back an hour later', async (component, cluster) => {
      await component.scaleTo(0);
      await cluster.run(HOUR);
      await component.scaleTo(replicas);
    }),
  ];
}

/** Operations on the coordinator, with any number of replicas, while components run. */
function ofTheCoordinator(replicas: number): readonly AlertStory[] {
  const of = replicas === 1 ? '1 replica' : `${replicas} replicas`;
  const story = (
    name: string,
    tell: (cluster: SimCluster) => Promise<void>,
    want: readonly string[] = [],
  ): AlertStory => ({
    name: `the coordinator with ${of}: ${name}`,
    want,
    async tell(cluster) {
      cluster.coordinators(replicas);
      await cluster.run(MINUTE);
      await cluster.deploy('one', 1);
      await cluster.deploy('three', 3);
      await cluster.run(SETTLED);
      await tell(cluster);
      await cluster.run(HOUR);
    },
  });
  return [
    story('updated', (cluster) => cluster.rollCoordinators()),
    story('updated, and rolled back', async (cluster) => {
      await cluster.rollCoordinators();
      await cluster.run(2 * MINUTE);
      await cluster.rollCoordinators();
    }),
    story('crashes', (cluster) => cluster.crashCoordinator()),
    story('scaled to nothing', async (cluster) => cluster.coordinators(0), ['LeaseCoordinatorAbsent']),
  ];
}

/** Problems that need a user's attention. */
const troubles: readonly AlertStory[] = [
  trouble('the only pod hangs', 1, ['LeaseWithoutLeader'], async (component) =>
    component.freeze(component.leader),
  ),
  trouble('the only pod is gone, and nothing takes its place', 1, ['LeaseWithoutLeader'], async (component) =>
    component.lose(component.leader),
  ),
  trouble(
    'all of three pods hang',
    3,
    ['LeaseCandidatesUnresponsive', 'LeaseWithoutLeader'],
    async (component) => component.freeze(component.leader, ...component.others),
  ),
  trouble('two of three pods hang', 3, ['LeaseCandidatesUnresponsive'], async (component) =>
    component.freeze(...component.others),
  ),
  trouble('one of three pods hangs', 3, [], async (component) =>
    component.freeze(...component.others.slice(0, 1)),
  ),
  trouble(
    'two of three pods hang, and then the third is deployed anew',
    3,
    ['LeaseCandidatesUnresponsive'],
    async (component, cluster) => {
      component.freeze(...component.others);
      await cluster.run(30 * MINUTE);
      await component.drain(component.leader);
    },
  ),
  trouble(
    'one of two pods hangs for long, and then the leader is drained, and nothing takes its place',
    2,
    ['LeaseCandidatesUnresponsive', 'LeaseWithoutLeader'],
    async (component, cluster) => {
      component.freeze(...component.others);
      await cluster.run(30 * MINUTE);
      component.leader.terminate();
    },
  ),
  trouble('three pods are scaled to two', 3, [], (component) => component.scaleTo(2)),
  // Programs that do not lead exit without a notice, so they could be hanging.
  trouble('three pods are scaled to one', 3, ['LeaseCandidatesUnresponsive'], (component) =>
    component.scaleTo(1),
  ),
];

function trouble(
  name: string,
  replicas: number,
  want: readonly string[],
  tell: (component: Awaited<ReturnType<SimCluster['deploy']>>, cluster: SimCluster) => Promise<void>,
): AlertStory {
  return {
    name,
    want,
    async tell(cluster) {
      cluster.coordinators(2);
      await cluster.run(MINUTE);
      const component = await cluster.deploy('component', replicas);
      await cluster.run(SETTLED);
      await tell(component, cluster);
      await cluster.run(HOUR);
    },
  };
}

export const alertStories: readonly AlertStory[] = [
  ...[1, 3].flatMap(everyday),
  ...[1, 3].flatMap(ofTheCoordinator),
  ...troubles,
];
