/** A port that is loaded when it is first asked something. */

/** Each of its methods answers by a promise, so nobody can tell it from one that is there. */
export type Asynchronous<Port> = { readonly [Name in keyof Port]: (...asked: never[]) => Promise<unknown> }

/** `here` are the methods that need no loading. A failed load is tried again at the next question, if `load` does. */
export function whenAsked<Port extends Asynchronous<Port>, Here extends keyof Port = never>(
  load: () => Promise<Omit<Port, Here>>,
  here: Pick<Port, Here>,
): Port {
  return new Proxy({ ...here } as Port, {
    get(methods, name) {
      // Whoever awaits the port itself must not take it for a promise.
      if (name === 'then') return undefined
      if (!Object.hasOwn(methods, name)) {
        Reflect.set(methods, name, async (...asked: readonly unknown[]) => {
          const port: object = await load()
          return (Reflect.get(port, name) as (...asked: readonly unknown[]) => unknown)(...asked)
        })
      }
      return Reflect.get(methods, name)
    },
  })
}
