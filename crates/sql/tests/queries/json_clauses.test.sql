-- The clauses of JSON functions: RETURNING, ON EMPTY, ON ERROR, WRAPPER, ON NULL, IS JSON. Most values are those of Flink's
-- `JsonFunctionsITCase` and `JsonAggregationFunctionsITCase`; a path is strict unless it begins with `lax`.
CREATE TABLE Docs (id INT, j STRING);

--- input Docs
1,"{""type"": ""account"", ""age"": 42, ""balance"": 13.37, ""activated"": true, ""none"": null, ""big"": 9999999999, ""tags"": [1, ""b"", null], ""owner"": {""z"": 1, ""a"": [2]}}"
2,"[1, 2"
3,NULL

--- query JSON_VALUE returns other types
SELECT id, JSON_VALUE(j, '$.age' RETURNING INT), JSON_VALUE(j, '$.balance' RETURNING DOUBLE),
  JSON_VALUE(j, '$.activated' RETURNING BOOLEAN), JSON_VALUE(j, '$.big' RETURNING BIGINT),
  JSON_VALUE(j, '$.balance' RETURNING DECIMAL(10, 2)), JSON_VALUE(j, '$.type' RETURNING STRING)
FROM Docs;

--- rows
1,42,13.37,TRUE,9999999999,13.37,account
2,NULL,NULL,NULL,NULL,NULL,NULL
3,NULL,NULL,NULL,NULL,NULL,NULL

--- query a value that does not fit its type is an error
SELECT JSON_VALUE(j, '$.type' RETURNING INTEGER DEFAULT 42 ON ERROR), JSON_VALUE(j, '$.big' RETURNING INT),
  JSON_VALUE(j, '$.age' RETURNING BOOLEAN DEFAULT FALSE ON ERROR), JSON_VALUE(j, '$.balance' RETURNING INT)
FROM Docs WHERE id = 1;

--- rows
42,NULL,FALSE,13

--- query empty results of lax and strict paths
SELECT JSON_VALUE(j, 'lax $.invalid' NULL ON EMPTY ERROR ON ERROR),
  JSON_VALUE(j, 'lax $.invalid' RETURNING INTEGER DEFAULT 42 ON EMPTY ERROR ON ERROR),
  JSON_VALUE(j, 'strict $.invalid' ERROR ON EMPTY NULL ON ERROR),
  JSON_VALUE(j, 'strict $.invalid' RETURNING INTEGER NULL ON EMPTY DEFAULT 42 ON ERROR),
  JSON_VALUE(j, '$.none' DEFAULT 'empty' ON EMPTY), JSON_VALUE(j, 'lax $.tags' DEFAULT 'empty' ON EMPTY),
  JSON_VALUE(j, '$.tags' DEFAULT 'error' ON ERROR)
FROM Docs WHERE id = 1;

--- rows
NULL,42,NULL,42,empty,empty,error

--- query text that is not JSON
SELECT JSON_VALUE(j, '$.a' DEFAULT 'error' ON ERROR), JSON_VALUE(j, 'lax $.a' DEFAULT 'empty' ON EMPTY), JSON_EXISTS(j, '$' UNKNOWN ON ERROR)
FROM Docs WHERE id = 2;

--- rows
error,empty,NULL

--- query defaults of rows
SELECT id, JSON_VALUE(j, '$.age' RETURNING INT DEFAULT id ON ERROR) FROM Docs;

--- rows
1,42
2,2
3,NULL

--- query errors that are asked for
SELECT JSON_VALUE(j, 'strict $.invalid' ERROR ON ERROR) FROM Docs WHERE id = 1;

--- error BAD_JSON
the path leads to nothing

--- query empty results as errors
SELECT JSON_VALUE(j, 'lax $.invalid' ERROR ON EMPTY) FROM Docs WHERE id = 1;

--- error BAD_JSON
the path leads to no value

--- query a type that JSON has not
SELECT JSON_VALUE(j, '$.age' RETURNING DATE) FROM Docs;

--- error TYPE_MISMATCH
JSON has no values of DATE

--- query a clause that there is not
SELECT JSON_VALUE(j, '$.age' EMPTY ARRAY ON ERROR) FROM Docs;

--- error SYNTAX
a clause such as NULL ON EMPTY

--- query JSON_EXISTS with its clause
SELECT JSON_EXISTS(j, '$.age'), JSON_EXISTS(j, 'strict $.invalid' TRUE ON ERROR), JSON_EXISTS(j, 'strict $.invalid' FALSE ON ERROR),
  JSON_EXISTS(j, 'strict $.invalid' UNKNOWN ON ERROR), JSON_EXISTS(j, 'lax $.invalid' ERROR ON ERROR)
FROM Docs WHERE id = 1;

--- rows
TRUE,TRUE,FALSE,NULL,FALSE

--- query JSON_QUERY and its wrappers
SELECT JSON_QUERY(j, '$.tags'), JSON_QUERY(j, '$.tags' WITH CONDITIONAL WRAPPER), JSON_QUERY(j, '$.tags' WITH UNCONDITIONAL ARRAY WRAPPER),
  JSON_QUERY(j, '$.age' WITH WRAPPER), JSON_QUERY(j, '$.type' WITH CONDITIONAL ARRAY WRAPPER), JSON_QUERY(j, '$.owner' WITH WRAPPER),
  JSON_QUERY(j, '$.age' WITHOUT WRAPPER)
FROM Docs WHERE id = 1;

--- rows
"[1,""b"",null]","[1,""b"",null]","[[1,""b"",null]]",[42],"[""account""]","[{""a"":[2],""z"":1}]",NULL

--- query JSON_QUERY of empty results and errors
SELECT JSON_QUERY(j, 'lax $.err2' EMPTY ARRAY ON EMPTY), JSON_QUERY(j, 'lax $.err3' EMPTY OBJECT ON EMPTY),
  JSON_QUERY(j, 'strict $.err5' NULL ON ERROR), JSON_QUERY(j, 'strict $.err6' EMPTY ARRAY ON ERROR),
  JSON_QUERY(j, 'strict $.err7' EMPTY OBJECT ON ERROR), JSON_QUERY(j, '$.age' EMPTY ARRAY ON ERROR), JSON_QUERY(j, 'lax $.age' EMPTY OBJECT ON EMPTY)
FROM Docs WHERE id = 1;

--- rows
[],{},NULL,[],{},[],{}

--- query JSON_QUERY as an array
SELECT JSON_QUERY(j, '$.tags' RETURNING ARRAY<STRING>), JSON_QUERY(j, '$.type' RETURNING ARRAY<STRING> WITH CONDITIONAL WRAPPER),
  JSON_QUERY(j, '$.owner' RETURNING ARRAY<STRING> WITHOUT WRAPPER EMPTY ARRAY ON ERROR), JSON_QUERY(j, '$.owner.*' RETURNING ARRAY<STRING>)[1]
FROM Docs WHERE id = 1;

--- rows
"[1, b, NULL]",[account],[],[2]

--- query an object is no array
SELECT JSON_QUERY(j, '$.tags' RETURNING ARRAY<STRING> EMPTY OBJECT ON ERROR) FROM Docs;

--- error TYPE_MISMATCH
EMPTY OBJECT is no ARRAY

--- query IS JSON
SELECT id, j IS JSON, j IS NOT JSON, j IS JSON OBJECT, j IS NOT JSON ARRAY, '1' IS JSON SCALAR AND '[]' IS JSON ARRAY, '"a"' IS JSON VALUE FROM Docs;

--- rows
1,TRUE,FALSE,TRUE,TRUE,TRUE,TRUE
2,FALSE,TRUE,FALSE,TRUE,TRUE,TRUE
3,FALSE,TRUE,FALSE,TRUE,TRUE,TRUE

--- query JSON_OBJECT
SELECT JSON_OBJECT(), JSON_OBJECT('K1' VALUE 'V1', 'K2' VALUE 'V2'), JSON_OBJECT(KEY 'b' VALUE 1, KEY 'a' VALUE CAST(NULL AS STRING)),
  JSON_OBJECT('a' VALUE CAST(NULL AS STRING) ABSENT ON NULL), JSON_OBJECT(KEY 'a' VALUE 1.50, 'b' VALUE TRUE NULL ON NULL)
FROM Docs WHERE id = 1;

--- rows
{},"{""K1"":""V1"",""K2"":""V2""}","{""a"":null,""b"":1}",{},"{""a"":1.50,""b"":true}"

--- query JSON_ARRAY
SELECT JSON_ARRAY(), JSON_ARRAY(1, '2', CAST(NULL AS INT)), JSON_ARRAY(1, CAST(NULL AS INT) NULL ON NULL), JSON_ARRAY(ARRAY[1, 2], x'0102')
FROM Docs WHERE id = 1;

--- rows
[],"[1,""2""]","[1,null]","[[1,2],""AQI=""]"

--- query JSON within JSON
SELECT JSON_OBJECT('a' VALUE JSON_ARRAY(JSON_OBJECT('k' VALUE id), '{}')), JSON_ARRAY(JSON('{"z": 1, "a": [ ]}'), JSON_OBJECT())
FROM Docs WHERE id = 1;

--- rows
"{""a"":[{""k"":1},""{}""]}","[{""a"":[],""z"":1},{}]"

--- set 'table.exec.state.ttl' = '1 d'

--- query JSON_OBJECTAGG
SELECT JSON_OBJECTAGG(KEY 'k' || CAST(id AS STRING) VALUE IF(id = 2, CAST(NULL AS INT), id)), JSON_OBJECTAGG('k' || CAST(id AS STRING) VALUE IF(id = 2, CAST(NULL AS INT), id) ABSENT ON NULL) FROM Docs;

--- changelog
+I,"{""k1"":1}","{""k1"":1}"
-U,"{""k1"":1}","{""k1"":1}"
+U,"{""k1"":1,""k2"":null}","{""k1"":1}"
-U,"{""k1"":1,""k2"":null}","{""k1"":1}"
+U,"{""k1"":1,""k2"":null,""k3"":3}","{""k1"":1,""k3"":3}"

--- query JSON_ARRAYAGG with its clause
SELECT JSON_ARRAYAGG(IF(id = 2, CAST(NULL AS INT), id)), JSON_ARRAYAGG(IF(id = 2, CAST(NULL AS INT), id) NULL ON NULL), JSON_ARRAYAGG(id ABSENT ON NULL) FILTER (WHERE id > 1) FROM Docs;

--- changelog
+I,"[1]","[1]",[]
-U,"[1]","[1]",[]
+U,"[1]","[1,null]",[2]
-U,"[1]","[1,null]",[2]
+U,"[1,3]","[1,null,3]","[2,3]"
