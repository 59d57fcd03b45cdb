import { randomBytes } from 'node:crypto';
import { startApiServer } from '../../src/apiserver/api-server.ts';
import { CUSTOM_API_VERSION, type LeaseCandidateVersion } from '../../src/coordination/candidate-sources.ts';
import { systemClock } from '../../src/support/system-clock.ts';
import { makeRequester, type RunningTarget, type ServedApi } from './target.ts';

/** Number of changes that the server remembers: enough for the longest story of a test. */
const historyLimit = 400;

/** An embedded server's API: that of 1.36, with any versions of LeaseCandidate. */
export interface EmbeddedApi extends ServedApi {
  readonly candidateVersions: readonly [LeaseCandidateVersion, ...LeaseCandidateVersion[]];
  readonly hasCustomCandidates: true;
}

export function embeddedApi(...candidateVersions: EmbeddedApi['candidateVersions']): EmbeddedApi {
  return {
    name: `the embedded server with ${candidateVersions.join(' and ')}`,
    minor: 36,
    candidateVersions,
    hasCustomCandidates: true,
  };
}

/** An embedded server's API with the versions of LeaseCandidate of another server. */
export function embeddedLike({ candidateVersions }: ServedApi): EmbeddedApi {
  // The embedded server supports every version of any server.
  return embeddedApi(...(candidateVersions as EmbeddedApi['candidateVersions']));
}

/** Starts an embedded server with no other writers. */
export async function startEmbeddedTarget(api: EmbeddedApi): Promise<RunningTarget> {
  const token = randomBytes(16).toString('hex');
  const reader = { token: randomBytes(16).toString('hex'), user: 'reader' };
  const changer = { token: randomBytes(16).toString('hex'), user: 'changer' };
  const errors: unknown[] = [];
  const server = await startApiServer({
    clock: systemClock,
    listen: { host: '127.0.0.1', port: 0 },
    tokens: [
      { token, user: { name: 'admin', groups: ['system:masters'] }, rules: 'admin' },
      { token: reader.token, user: { name: reader.user, groups: [] }, rules: 'read-only' },
      {
        token: changer.token,
        user: { name: changer.user, groups: [] },
        rules: [{ verbs: ['update', 'patch'], groups: ['coordination.k8s.io'], resources: ['leases'] }],
      },
    ],
    leaseCandidateVersions: [...api.candidateVersions, CUSTOM_API_VERSION],
    historyLimit,
    standIns: false,
    onError: (error) => errors.push(error),
  });
  const requester = makeRequester({ url: server.url, token });
  return {
    target: {
      ...api,
      reader,
      changer,
      request: requester.request,
      watch: requester.watch,
      async compact() {
        const path = '/apis/coordination.k8s.io/v1/namespaces/default/leases';
        await requester.request('POST', path, { body: { metadata: { name: 'compaction' } } });
        for (let leaseTransitions = 1; leaseTransitions <= historyLimit; leaseTransitions += 1) {
          await requester.request('PATCH', `${path}/compaction`, {
            body: { spec: { leaseTransitions } },
            contentType: 'application/merge-patch+json',
          });
        }
      },
    },
    async stop() {
      requester.close();
      await server.close();
      if (errors.length > 0) throw new AggregateError(errors, 'the server ran into errors of its own');
    },
  };
}
