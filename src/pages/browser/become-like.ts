/**
 * Makes what stands on the page like what was drawn anew, by touching only what differs: text that grew is added to, elements of the same
 * kind stay, and with them what the reader did to them.
 */
export function becomeLike(node: Element, wanted: Element): void {
  const children = [...wanted.childNodes]
  for (const [place, child] of children.entries()) {
    const present = node.childNodes[place]
    if (present === undefined) node.append(child)
    else if (present instanceof Text && child instanceof Text) grow(present, child.data)
    else if (present.nodeName !== child.nodeName || !(present instanceof Element && child instanceof Element))
      present.replaceWith(child)
    else if (!present.isEqualNode(child)) {
      dress(present, child)
      becomeLike(present, child)
    }
  }
  while (node.childNodes.length > children.length) node.lastChild?.remove()
}

function grow(text: Text, wanted: string): void {
  if (wanted === text.data) return
  if (wanted.startsWith(text.data)) text.appendData(wanted.slice(text.data.length))
  else text.data = wanted
}

/** The same attributes, but for what the reader chose: whether a fold is open. */
function dress(present: Element, wanted: Element): void {
  for (const name of present.getAttributeNames()) if (name !== 'open' && !wanted.hasAttribute(name)) present.removeAttribute(name)
  for (const { name, value } of wanted.attributes) if (present.getAttribute(name) !== value) present.setAttribute(name, value)
}
