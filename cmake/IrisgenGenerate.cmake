# irisgen_generate(): written with the consumers of tests/.
