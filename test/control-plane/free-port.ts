import { createServer } from 'node:net';

/** Above the ports of Kubernetes' own programs, and below those of outgoing connections and of the tests in Go. */
const FIRST_PORT = 11_000;
const END_OF_PORTS = 20_000;

/**
 * Returns ports of the loopback interface that are free now. No outgoing connection takes one before its use, or while
 * its server restarts. Another server may take one: the caller then retries with other ports.
 */
export async function freePorts(count: number): Promise<number[]> {
  // All ports stay open until the last is found, so that no port is returned twice.
  const servers = Array.from({ length: count }, () => createServer());
  try {
    return await Promise.all(servers.map(listenAnywhere));
  } finally {
    await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))));
  }
}

async function listenAnywhere(server: ReturnType<typeof createServer>): Promise<number> {
  for (;;) {
    const port = FIRST_PORT + Math.floor(Math.random() * (END_OF_PORTS - FIRST_PORT));
    if (await canListen(server, port)) return port;
  }
}

function canListen(server: ReturnType<typeof createServer>, port: number): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const onError = (error: NodeJS.ErrnoException) => {
      if (error.code === 'EADDRINUSE') resolve(false);
      else reject(error);
    };
    server.once('error', onError);
    server.listen(port, '127.0.0.1', () => {
      server.off('error', onError);
      resolve(true);
    });
  });
}
