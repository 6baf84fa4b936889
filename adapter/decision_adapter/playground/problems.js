// Which field an endpoint's sentence is about.

const PLACE =
  /^decisions?(?:\[(\d+)\])?\.(state|question|id|type|readout|options)(?:\[(\d+)\])?(?:\.(id|description))?[^:]*: /;

/**
 * The places that `sentence` names: `decision.options[1].id: 'a' is already the id …; decision.question: …`.
 * `question` and `option` are indexes, `field` and `part` are names, `text` is what is wrong there.
 */
export const places = (sentence) =>
  sentence.split(/; (?=decisions?[.[])/).flatMap((part) => {
    const found = PLACE.exec(part);
    if (!found) return [];
    const [path, question, field, option, inOption] = found;
    return [
      {
        question: Number(question ?? 0),
        field,
        option: option === undefined ? null : Number(option),
        part: inOption ?? null,
        text: part.slice(path.length).replace(/ \(and \d+ more\)$/, ""),
      },
    ];
  });
