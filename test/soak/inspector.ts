/** A client of Node's inspector: collects garbage, and reads objects. */
export class Inspector {
  readonly #socket: WebSocket;
  readonly #pending = new Map<number, PromiseWithResolvers<unknown>>();
  #sent = 0;

  private constructor(socket: WebSocket) {
    this.#socket = socket;
    socket.addEventListener('message', ({ data }) => this.#receive(String(data)));
    socket.addEventListener('close', () => {
      for (const { reject } of this.#pending.values()) reject(new Error('the inspector has gone'));
      this.#pending.clear();
    });
  }

  static async connect(url: string): Promise<Inspector> {
    const socket = new WebSocket(url);
    await new Promise<void>((resolve, reject) => {
      socket.addEventListener('open', () => resolve(), { once: true });
      socket.addEventListener('error', () => reject(new Error(`no inspector at ${url}`)), { once: true });
    });
    return new Inspector(socket);
  }

  /** After this, everything on the heap is in use. */
  async collectGarbage(): Promise<void> {
    await this.#send('HeapProfiler.collectGarbage', {});
  }

  /** Applies `read`, the source of a function, to an array of all instances of an exported class. */
  async readInstances<T>(
    { module, name }: { readonly module: string; readonly name: string },
    read: string,
  ): Promise<T> {
    const objectGroup = 'instances';
    const load = `process.getBuiltinModule('node:module').createRequire('file:///')(${JSON.stringify(module)})`;
    try {
      const { result: prototype } = await this.#send<Evaluated>('Runtime.evaluate', {
        expression: `${load}[${JSON.stringify(name)}].prototype`,
        objectGroup,
      });
      const { objects } = await this.#send<{ readonly objects: RemoteObject }>('Runtime.queryObjects', {
        prototypeObjectId: prototype.objectId,
        objectGroup,
      });
      const { result, exceptionDetails } = await this.#send<Evaluated>('Runtime.callFunctionOn', {
        functionDeclaration: `function () { return JSON.stringify((${read})(this)); }`,
        objectId: objects.objectId,
        returnByValue: true,
      });
      if (exceptionDetails || result.value === undefined)
        throw new Error(`${name} cannot be read: ${JSON.stringify(exceptionDetails ?? result)}`);
      return JSON.parse(result.value) as T;
    } finally {
      // Otherwise the inspector keeps them: a leak by this test alone.
      await this.#send('Runtime.releaseObjectGroup', { objectGroup });
    }
  }

  close(): void {
    this.#socket.close();
  }

  #send<T>(method: string, params: object): Promise<T> {
    if (this.#socket.readyState !== WebSocket.OPEN)
      return Promise.reject(new Error('the inspector has gone'));
    this.#sent += 1;
    const answer = Promise.withResolvers<unknown>();
    this.#pending.set(this.#sent, answer);
    this.#socket.send(JSON.stringify({ id: this.#sent, method, params }));
    return answer.promise as Promise<T>;
  }

  #receive(text: string): void {
    const { id, result, error } = JSON.parse(text) as Answer;
    const pending = id === undefined ? undefined : this.#pending.get(id);
    if (!pending || id === undefined) return;
    this.#pending.delete(id);
    if (error) pending.reject(new Error(`the inspector refuses: ${error.message}`));
    else pending.resolve(result);
  }
}

interface Answer {
  readonly id?: number;
  readonly result?: unknown;
  readonly error?: { readonly message: string };
}

interface RemoteObject {
  readonly objectId?: string;
  readonly value?: string;
}

interface Evaluated {
  readonly result: RemoteObject;
  readonly exceptionDetails?: unknown;
}
