/**
 * One page of a real Firefox or WebKit, with the actions of its user. Our own, because playwright's Firefox needs newer commands than
 * Debian's, and no kept library drives WebKitGTK; both engines take the same actions of the WebDriver standard.
 */
import { waitUntil } from '../../wait-until.ts'

/** A cookie as the browser keeps it. */
export interface BrowserCookie {
  readonly name: string
  readonly secure: boolean
  readonly httpOnly: boolean
  /** `Lax` in WebKit, `lax` in Firefox. */
  readonly sameSite?: string
}

/** What an engine's driver does in its own way. */
export interface PageDriver {
  readonly navigate: (url: string) => Promise<void>
  readonly reload: () => Promise<void>
  readonly back: () => Promise<void>
  /** Evaluates an expression in the page; a promise is awaited. The value is passed as JSON. */
  readonly evaluate: (expression: string) => Promise<string | undefined>
  /** Input sources with their actions, as both versions of WebDriver have them. */
  readonly performActions: (sources: readonly unknown[]) => Promise<void>
  readonly resize: (width: number, height: number) => Promise<void>
  readonly screenshot: () => Promise<Buffer>
  /** The cookies of the open page. */
  readonly listCookies: () => Promise<readonly BrowserCookie[]>
  /** Errors of scripts and of the content policy so far. */
  readonly listProblems: () => readonly string[]
}

const keyCodes = { Enter: '\uE007', Escape: '\uE00C', Tab: '\uE004' } as const

export class DrivenPage {
  readonly #driver: PageDriver
  readonly #site: string

  constructor(driver: PageDriver, site: string) {
    this.#driver = driver
    this.#site = site
  }

  get driver(): PageDriver {
    return this.#driver
  }

  async open(path: string): Promise<void> {
    await this.#driver.navigate(this.#site + path)
  }

  async read<T>(expression: string): Promise<T> {
    return JSON.parse((await this.#driver.evaluate(expression)) ?? 'null') as T
  }

  /** Waits until the expression is true, on this page or on one that follows it. */
  async waitFor(expression: string): Promise<void> {
    let seen: unknown
    const isTrue = () =>
      this.read(`Boolean(${expression})`).then(
        (value) => value === true,
        (error: unknown) => {
          // The page is being left.
          seen = error
          return false
        },
      )
    await waitUntil(isTrue, expression, 50).catch(async (error: unknown) => {
      const text = await this.read<string>('location.href + " " + document.body.innerText').catch(() => String(seen))
      throw new Error(`${String(error)}, at ${text.slice(0, 1500)}`)
    })
  }

  /** Waits for a text that a reader sees. */
  waitForText(text: string): Promise<void> {
    return this.waitFor(`document.body?.innerText.includes(${JSON.stringify(text)})`)
  }

  waitForPath(path: string): Promise<void> {
    return this.waitFor(`location.pathname === ${JSON.stringify(path)} && document.readyState === 'complete'`)
  }

  /** Moves the pointer to the middle of the first visible element and presses it. */
  click(selector: string): Promise<void> {
    return this.#clickFirst(selector, 'true')
  }

  /** Presses the first visible button with this text. */
  clickButton(text: string): Promise<void> {
    return this.#clickFirst('button', `each.innerText.trim() === ${JSON.stringify(text)}`)
  }

  async #clickFirst(selector: string, condition: string): Promise<void> {
    const find = `[...document.querySelectorAll(${JSON.stringify(selector)})].find((each) => each.checkVisibility() && !each.disabled && ${condition})`
    await this.waitFor(`document.readyState === 'complete' && ${find}`)
    const readMiddle = () =>
      this.read<readonly [number, number]>(`(() => {
        const found = ${find}
        found.scrollIntoView({ block: 'center', behavior: 'instant' })
        const { x, y, width, height } = found.getBoundingClientRect()
        return [Math.round(x + width / 2), Math.round(y + height / 2)]
      })()`)
    // A font or a style that arrives moves it, and the press would miss.
    let [x, y] = await readMiddle()
    await waitUntil(async () => {
      const before = [x, y]
      ;[x, y] = await readMiddle()
      return x === before[0] && y === before[1]
    }, `${selector} to stand still`)
    await this.#driver.performActions([
      {
        type: 'pointer',
        id: 'mouse',
        parameters: { pointerType: 'mouse' },
        actions: [
          { type: 'pointerMove', x, y, duration: 0, origin: 'viewport' },
          { type: 'pointerDown', button: 0 },
          { type: 'pointerUp', button: 0 },
        ],
      },
    ])
  }

  /** Types into the element with the focus. */
  async type(text: string): Promise<void> {
    const actions = [...text].flatMap((value) => [
      { type: 'keyDown', value },
      { type: 'keyUp', value },
    ])
    await this.#driver.performActions([{ type: 'key', id: 'keyboard', actions }])
  }

  press(key: keyof typeof keyCodes): Promise<void> {
    return this.type(keyCodes[key])
  }

  async fill(selector: string, text: string): Promise<void> {
    await this.click(selector)
    await this.type(text)
  }
}
