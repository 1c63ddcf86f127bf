/** Forms of the website as a browser without scripts reads and sends them. */
import type { Page, Request } from 'playwright-core'
import type { ClientResponse, WebsiteClient } from '../gateway/website-client.ts'

export interface PageFormFields {
  readonly action: string
  readonly subject?: string
}

/** The hidden fields of a form of a page, to be sent with what was typed. */
export function readFormFields(page: string, form: PageFormFields): URLSearchParams {
  return findForm(page, form).fields
}

/** The path that a form of a page is sent to. */
export function readFormAddress(page: string, form: PageFormFields): string {
  return findForm(page, form).address
}

function findForm(
  page: string,
  { action, subject = '' }: PageFormFields,
): { readonly fields: URLSearchParams; readonly address: string } {
  for (const [form] of page.matchAll(/<form[^>]* data-post[^]*?<\/form>/g)) {
    const hidden = [...form.matchAll(/<input type="hidden" name="(\w+)" value="([^"]*)"/g)].map(([, name, value]) => [
      name,
      value,
    ])
    const fields = new URLSearchParams(hidden as [string, string][])
    const address = (/ action="([^"]*)"/.exec(form)?.[1] ?? '').replaceAll('&amp;', '&')
    if (fields.get('action') === action && fields.get('subject') === subject) return { fields, address }
  }
  throw new Error(`the page has no form '${action}' of '${subject}'`)
}

/** Sends a form's fields to a page of the site. */
export function sendForm(
  browser: WebsiteClient,
  url: string,
  fields: URLSearchParams,
  typed: Readonly<Record<string, string>> = {},
  headers: Readonly<Record<string, string>> = {},
): Promise<ClientResponse> {
  const body = new URLSearchParams([...fields, ...Object.entries(typed)])
  for (const name of Object.keys(typed)) body.set(name, typed[name] ?? '')
  return browser.send('POST', url, body.toString(), { 'content-type': 'application/x-www-form-urlencoded', ...headers })
}

/** Sends a form again that was sent before, from a page of the same path, as one that the browser kept does. */
export async function resendForm(page: Page, sent: Request): Promise<void> {
  // An expression, because the content policy of the pages allows no function as text.
  const expression = `(() => {
    const form = document.createElement('form')
    form.method = 'post'
    form.action = location.pathname
    for (const [name, value] of new URLSearchParams(${JSON.stringify(sent.postData() ?? '')})) {
      const field = document.createElement('input')
      field.name = name
      field.value = value
      form.append(field)
    }
    document.body.append(form)
    form.submit()
  })()`
  await Promise.all([page.waitForEvent('load'), page.evaluate(expression)])
}
