perfCulprit.chunk("41bcf647d7f275b9",[[1.0,null]]);
