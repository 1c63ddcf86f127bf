/**
 * Updates the rendered elements to match a new rendering and touches only differences: grown text is appended, elements of the same kind
 * are kept together with the state that the reader gave them.
 */
export function morph(node: Element, wanted: Element): void {
  const children = [...wanted.childNodes]
  for (const [place, child] of children.entries()) {
    const presentNode = node.childNodes[place]
    if (presentNode === undefined) node.append(child)
    else if (presentNode instanceof Text && child instanceof Text) updateText(presentNode, child.data)
    else if (presentNode.nodeName !== child.nodeName || !(presentNode instanceof Element && child instanceof Element))
      presentNode.replaceWith(child)
    else if (!presentNode.isEqualNode(child)) {
      updateAttributes(presentNode, child)
      morph(presentNode, child)
    }
  }
  while (node.childNodes.length > children.length) node.lastChild?.remove()
}

function updateText(text: Text, wanted: string): void {
  if (wanted === text.data) return
  if (wanted.startsWith(text.data)) text.appendData(wanted.slice(text.data.length))
  else text.data = wanted
}

/** Compares attributes except those that the reader controls: whether a fold is open. */
function updateAttributes(present: Element, wanted: Element): void {
  for (const name of present.getAttributeNames()) if (name !== 'open' && !wanted.hasAttribute(name)) present.removeAttribute(name)
  for (const { name, value } of wanted.attributes) if (present.getAttribute(name) !== value) present.setAttribute(name, value)
}
