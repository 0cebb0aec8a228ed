package postgres

import (
	"encoding/hex"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
)

// each reads an answer to its end. The values are those of the wire, uncopied: the dialect asks for
// text or bytes. Text has one form in both of the protocol's formats; bytes have not, and arrive as
// text in the modes that a pooler may ask for.
func each(rows pgx.Rows, row func([][]byte) error) error {
	defer rows.Close()
	if err := rows.Err(); err != nil {
		return err // an answer that failed in a batch has no columns to ask for
	}
	var encoded []int
	for i, field := range rows.FieldDescriptions() {
		if field.Format == pgtype.TextFormatCode && field.DataTypeOID == pgtype.ByteaOID {
			encoded = append(encoded, i)
		}
	}
	for rows.Next() {
		values := rows.RawValues()
		for _, i := range encoded {
			decoded, err := bytesOf(values[i])
			if err != nil {
				return err
			}
			values[i] = decoded
		}
		if err := row(values); err != nil {
			return err
		}
	}
	return rows.Err()
}

// bytesOf reads the text form of bytes (PostgreSQL documentation, section 8.4): hexadecimal digits, or
// characters of which some are escaped.
func bytesOf(text []byte) ([]byte, error) {
	if text == nil {
		return nil, nil
	}
	if len(text) >= 2 && text[0] == '\\' && text[1] == 'x' {
		decoded := make([]byte, hex.DecodedLen(len(text)-2))
		_, err := hex.Decode(decoded, text[2:])
		return decoded, err
	}
	decoded := make([]byte, 0, len(text))
	for len(text) > 0 {
		switch {
		case text[0] != '\\':
			decoded, text = append(decoded, text[0]), text[1:]
		case len(text) >= 2 && text[1] == '\\':
			decoded, text = append(decoded, '\\'), text[2:]
		case len(text) >= 4:
			decoded, text = append(decoded, (text[1]-'0')<<6|(text[2]-'0')<<3|(text[3]-'0')), text[4:]
		default:
			return nil, fmt.Errorf("bytes end in %q", text)
		}
	}
	return decoded, nil
}
