"""The rules by which a log of extractions becomes a graph, as pure functions of its passages.

`qafd.storage.full_assembly` applies them to a whole log, `qafd.ingest.incremental` to what a change
touches; both give the same graph, for every order of the log.

Nodes are the passages and the entities. An entity is a key with a mention, where a noun chunk needs two
sentences, a lone proper noun must never be written small, a title must be more than the file's name, and
a heading in a sentence. Known names are then found again in all passages by longest match. Names of one
document that are the last word of just one of its persons, or a spelled-out acronym, are one entity.

Edges, with `similarity` the structural factor H(h(u), h(v)) of Eq. (1):

- mention, entity to passage: max(.001, cosine of name and passage), 4 times that where the entity is the
  passage's title or heading (0.5 times where no sentence says the title, 0.1 times where it is that
  of more than 16 passages), 0.1 times for terms, and
  divided by the entity's number of passages to the power 0.2; these two factors are those of the entity;
- relation, entity to entity: asserted in a sentence, max(.001, cosine of the names), times the weight
  that an imported graph gives it, as a multiple of the mean, or a fifth of the strength that a language
  model gives it, from 1 to 10;
- synonym, entity to entity: cosine of the names >= 0.8, times 0.1, where one of the two is among the 16
  nearest such names of the other.
"""
