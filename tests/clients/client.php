<?php
// jefs42/libretranslate, which Nextcloud's integration uses, against the server at a URL.
// Usage: php client.php URL AUTOLOADER DIRECTORY
declare(strict_types=1);

[, $url, $autoloader, $directory] = $argv;
require $autoloader;

const GERMAN = 'Das ist ein Satz in deutscher Sprache.';

$address = parse_url($url);
$client = new Jefs42\LibreTranslate('http://' . $address['host'], $address['port'], 'en', 'de');
$client->setApiKey('key');
$file = $directory . '/letter.txt';
file_put_contents($file, "Hi.\n");

/** What a call returns, or the words of its exception. */
function tried(callable $call): mixed
{
    try {
        return $call();
    } catch (Exception $error) {
        return $error->getMessage();
    }
}

echo json_encode([
    'languages' => array_keys($client->Languages()),
    'most characters' => $client->Settings()['charLimit'],
    'marked' => $client->Translate('Hi <b>you</b>.'),
    'detected' => $client->Detect(GERMAN),
    'automatic' => $client->Translate(GERMAN, 'auto', 'en'),
    'file' => $client->translateFiles($file),
    'suggestion' => tried(fn () => $client->Suggest('Hi.', 'Servus.')),
    'unknown language' => tried(fn () => $client->Translate('Hi.', 'en', 'xx')),
]);
