/** The documentation: puts the reader's own key into the snippets. It is kept in this tab only. */
import './site.ts'
import { readStored, writeStored } from '../device-storage.ts'
import { findElement, findElements, getProps } from '../page.ts'

const storageKey = 'docs-key'
const { placeholder } = getProps('docs')
const form = document.querySelector('[data-key]')

if (form instanceof HTMLFormElement) {
  const field = findElement('input', HTMLInputElement, form)
  const places = findPlaces()
  const show = (key: string): void => {
    for (const { node, before, after } of places) node.data = before + (key === '' ? placeholder : key) + after
  }
  form.hidden = false
  form.addEventListener('submit', (event) => event.preventDefault())
  field.addEventListener('input', () => {
    const key = field.value.trim()
    writeStored('sessionStorage', storageKey, key === '' ? null : key)
    show(key)
  })
  field.value = readStored('sessionStorage', storageKey) ?? ''
  if (field.value !== '') show(field.value)
}

interface Place {
  readonly node: Text
  readonly before: string
  readonly after: string
}

/** The texts of code that have the placeholder. */
function findPlaces(): Place[] {
  return findElements('pre code', HTMLElement).flatMap((code) => {
    const walker = document.createTreeWalker(code, NodeFilter.SHOW_TEXT)
    const foundPlaces: Place[] = []
    while (walker.nextNode() !== null) {
      const node = walker.currentNode
      if (!(node instanceof Text)) continue
      const [before, after] = node.data.split(placeholder)
      if (before !== undefined && after !== undefined) foundPlaces.push({ node, before, after })
    }
    return foundPlaces
  })
}
